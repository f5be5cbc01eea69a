import { Readable } from 'node:stream';
import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { asker } from '../http/asked-by.js';
import { Permit } from '../http/permit.js';
import { readInput } from '../http/read-input.js';
import { approveBatchRequest } from './approve-batch.js';
import { approval, approveRequest } from './approve-items.js';
import { BatchDesk } from './batch-desk.js';
import { whyRequest } from './command-batch.js';
import { draftRequest, editRequest } from './filter.js';
import { batchStates } from './machine/batch-state.js';
import { itemVerdicts } from './machine/verdict.js';
import { batchesRequest, batchItem, batchReport, itemsRequest } from './read-batches.js';

const batchId = z.object({ batch_id: z.uuid() });
const nothing = z.strictObject({});
/** Who approves is who asks. */
const alone = approveRequest.omit({ approver: true });
const draft = z.object({ batch_id: z.uuid(), state: z.literal('draft'), hash: z.string(), items: z.number() });
const edited = draft.extend({ state: z.enum(batchStates) });
const checked = z.object({
  batch_id: z.uuid(),
  state: z.literal('checked'),
  hash: z.string(),
  verdicts: z.partialRecord(z.enum(itemVerdicts), z.number()),
  items: z.number(),
  lookups: z.object({ made: z.number(), left_out: z.number() }),
});
const approved = z.object({
  batch_id: z.uuid(),
  state: z.literal('approved'),
  hash: z.string(),
  approver: z.string(),
  policy: z.string(),
  approved: z.number(),
  skipped: z.number(),
  canary: z.number(),
  expires_at: z.string(),
  deadline_at: z.string(),
});
const commanded = z.object({ batch_id: z.uuid(), state: z.enum(batchStates) });
const page = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), next: z.string().optional() });

/** Replay batches: draft, dry run, approval, course and result. */
@Controller('v1')
export class BatchesController {
  constructor(@Inject(BatchDesk) private readonly desk: BatchDesk) {}

  @Get('batches')
  @Permit('list', { summary: 'Replay batches, newest first', query: batchesRequest, response: page(batchReport) })
  list(@Query() query: unknown, @Req() request: FastifyRequest) {
    return this.desk.list(readInput(batchesRequest, query), asker(request));
  }

  @Post('batches')
  @HttpCode(201)
  @Permit('replay_request', { summary: 'Freezes what a filter finds into a draft', body: draftRequest, response: draft })
  draft(@Body() body: unknown, @Req() request: FastifyRequest) {
    return this.desk.draft(readInput(draftRequest, body), asker(request));
  }

  @Get('batches/:batch_id')
  @Permit('list', { summary: 'A batch with its counts', params: batchId, response: batchReport })
  report(@Param() params: unknown, @Req() request: FastifyRequest) {
    return this.desk.report(readInput(batchId, params).batch_id, asker(request));
  }

  @Post('batches/:batch_id/edit')
  @HttpCode(200)
  @Permit('replay_request', {
    summary: 'Changes a batch that has not begun; voids its approval',
    params: batchId,
    body: editRequest,
    response: edited,
  })
  edit(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    return this.desk.edit(readInput(batchId, params).batch_id, readInput(editRequest, body), asker(request));
  }

  @Post('batches/:batch_id/dry-run')
  @HttpCode(200)
  @Permit('replay_request', {
    summary: 'Says of each item whether it may be tried again; sends nothing',
    params: batchId,
    body: nothing,
    response: checked,
  })
  check(@Param() params: unknown, @Req() request: FastifyRequest) {
    return this.desk.check(readInput(batchId, params).batch_id, asker(request));
  }

  @Post('batches/:batch_id/approve')
  @HttpCode(200)
  @Permit('replay_approve', {
    summary: 'Approves the eligible items, bound to the hash',
    params: batchId,
    body: approveBatchRequest,
    response: approved,
  })
  approve(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    return this.desk.approve(readInput(batchId, params).batch_id, readInput(approveBatchRequest, body), asker(request));
  }

  @Post('batches/:batch_id/pause')
  @HttpCode(200)
  @Permit(['replay_request', 'replay_approve'], {
    summary: 'Begins no further item until it is resumed',
    params: batchId,
    body: whyRequest,
    response: commanded,
  })
  pause(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    const person = asker(request);
    const { reason } = readInput(whyRequest, body);
    return this.desk.command('pause', { batchId: readInput(batchId, params).batch_id, person, reason });
  }

  @Post('batches/:batch_id/resume')
  @HttpCode(200)
  @Permit('replay_approve', { summary: 'Goes on with a paused batch', params: batchId, body: whyRequest, response: commanded })
  resume(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    const { reason } = readInput(whyRequest, body);
    return this.desk.command('resume', { batchId: readInput(batchId, params).batch_id, person: asker(request), reason });
  }

  @Post('batches/:batch_id/stop')
  @HttpCode(200)
  @Permit(['replay_request', 'replay_approve'], {
    summary: 'Begins no further item, for good',
    params: batchId,
    body: whyRequest.partial(),
    response: commanded,
  })
  stop(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    const person = asker(request);
    const { reason } = readInput(whyRequest.partial(), body);
    return this.desk.command('stop', { batchId: readInput(batchId, params).batch_id, person, reason });
  }

  @Get('batches/:batch_id/items')
  @Permit('list', {
    summary: 'Items of a batch with their verdicts and ends',
    params: batchId,
    query: itemsRequest,
    response: page(batchItem),
  })
  items(@Param() params: unknown, @Query() query: unknown, @Req() request: FastifyRequest) {
    return this.desk.items(readInput(batchId, params).batch_id, readInput(itemsRequest, query), asker(request));
  }

  @Get('batches/:batch_id/items.csv')
  @Permit('list', { summary: 'All items of a batch as CSV', params: batchId, produces: 'text/csv' })
  async csv(@Param() params: unknown, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    const { batch_id } = readInput(batchId, params);
    const lines = await this.desk.csv(batch_id, asker(request));
    await reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="batch-${batch_id}.csv"`)
      .header('x-content-type-options', 'nosniff')
      .send(Readable.from(lines));
  }

  @Post('items/approve')
  @HttpCode(200)
  @Permit('replay_approve', {
    summary: 'Up to 50 items by one person alone, where the site has that policy',
    body: alone,
    response: approval,
  })
  approveAlone(@Body() body: unknown, @Req() request: FastifyRequest) {
    const person = asker(request);
    return this.desk.approveAlone({ ...readInput(alone, body), approver: person.subject }, person);
  }
}
