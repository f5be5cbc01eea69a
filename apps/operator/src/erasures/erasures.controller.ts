import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OpenArea } from '../area.js';
import { asker } from '../http/asked-by.js';
import { Permit } from '../http/permit.js';
import { readInput } from '../http/read-input.js';
import { approveErasure, approveErasureRequest } from './approve-erasure.js';
import { draftErasure, type ErasureTools, erasureRequest } from './draft-erasure.js';
import { ErasureServices } from './erasure-services.js';
import { finishTask } from './finish-task.js';
import { runErasures, tidyErasures } from './run-erasures.js';
import { erasureReport, erasuresPage, erasuresQuery, listErasures, showErasure } from './show-erasure.js';

const erasureId = z.object({ erasure_id: z.uuid() });
const taskId = erasureId.extend({ task_id: z.uuid() });
const nothing = z.strictObject({});

/** Under which what erasures are made with is injected. */
const erasureTools = Symbol('erasure tools');

/** Whoever may ask for an erasure, or approve one, may say that a record is deleted. */
const mayErase = ['replay_request', 'delete'] as const;

/** Erasing a person: what there is, the approval, the proof. */
@Controller('v1/erasures')
class ErasuresController {
  constructor(@Inject(erasureTools) private readonly tools: ErasureTools) {}

  @Get()
  @Permit('list', { summary: 'Erasures, the newest first', query: erasuresQuery, response: erasuresPage })
  list(@Query() query: unknown, @Req() request: FastifyRequest) {
    return listErasures(this.tools.db, readInput(erasuresQuery, query), asker(request));
  }

  @Post()
  @HttpCode(201)
  @Permit(mayErase, {
    summary: 'Lists every place that holds something of a person; erases nothing',
    body: erasureRequest,
    response: erasureReport,
  })
  async draft(@Body() body: unknown, @Req() request: FastifyRequest) {
    const person = asker(request);
    return showErasure(this.tools.db, await draftErasure(this.tools, readInput(erasureRequest, body), person), person);
  }

  @Get(':erasure_id')
  @Permit('list', {
    summary: 'What each place held before and holds now, and what is to be deleted at destinations',
    params: erasureId,
    response: erasureReport,
  })
  show(@Param() params: unknown, @Req() request: FastifyRequest) {
    return showErasure(this.tools.db, readInput(erasureId, params).erasure_id, asker(request));
  }

  @Post(':erasure_id/approve')
  @HttpCode(200)
  @Permit('delete', {
    summary: 'Erases what was listed, by a second person',
    params: erasureId,
    body: approveErasureRequest,
    response: erasureReport,
  })
  async approve(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    const { erasure_id: id } = readInput(erasureId, params);
    const person = asker(request);
    await approveErasure(this.tools, id, { ...readInput(approveErasureRequest, body), person });
    return showErasure(this.tools.db, id, person);
  }

  @Post(':erasure_id/tasks/:task_id/done')
  @HttpCode(200)
  @Permit(mayErase, {
    summary: 'Says that a record is deleted at its destination',
    params: taskId,
    body: nothing,
    response: erasureReport,
  })
  async done(@Param() params: unknown, @Req() request: FastifyRequest) {
    const { erasure_id: id, task_id } = readInput(taskId, params);
    const person = asker(request);
    await finishTask(this.tools.db, { erasureId: id, taskId: task_id }, person);
    return showErasure(this.tools.db, id, person);
  }
}

/** Erasures, and the step that carries them out. */
export const erasuresArea: OpenArea = ({ db, owners, clients, logger }) => {
  const tools: ErasureTools = { db, services: new ErasureServices(clients, owners.keys()), logger };
  return {
    controllers: [ErasuresController],
    providers: [{ provide: erasureTools, useValue: tools }],
    steps: { erasures: () => runErasures(tools), 'late erasures': () => tidyErasures(tools) },
  };
};
