import { Controller, Get } from '@nestjs/common';
import { openApi } from './openapi.js';

/** The contract as this very process checks it. */
@Controller()
export class OpenApiController {
  private readonly document = openApi();

  @Get('openapi.json')
  get(): object {
    return this.document;
  }
}
