import { Controller, Get, Inject } from '@nestjs/common';
import { z } from 'zod';
import type { Area } from '../area.js';
import { Permit } from '../http/permit.js';
import { type OpenApi, openApi } from './openapi.js';

const openApiDocument = Symbol('openapi document');
const anyDocument = z.looseObject({ openapi: z.string(), paths: z.looseObject({}) });

/** The contract as this very process checks it. */
@Controller()
class OpenApiController {
  constructor(@Inject(openApiDocument) private readonly document: OpenApi) {}

  @Get('openapi.json')
  @Permit('public', { summary: 'This document', response: anyDocument })
  get(): OpenApi {
    return this.document;
  }
}

/** Describes the doors of the other areas, and its own. */
export function openApiArea(areas: readonly Area[]): Area {
  const controllers = [...areas.flatMap((area) => area.controllers ?? []), OpenApiController];
  return { controllers: [OpenApiController], providers: [{ provide: openApiDocument, useValue: openApi(controllers) }] };
}
