import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { describeIssues } from '#runtime';
import { approveRequest } from '../batches/approve-items.js';
import { listRequest } from '../dead-letters/list-letters.js';
import { Desk } from '../desk.js';
import { askedBy } from './asked-by.js';
import { refusals } from './refusal.js';

const eventId = z.object({ event_id: z.uuid() });
const batchId = z.object({ batch_id: z.uuid() });
/** Who approves is who asks. */
const approval = approveRequest.omit({ approver: true });

/** What people do about dead letters, over HTTP. */
@Controller('v1')
export class DeskController {
  constructor(@Inject(Desk) private readonly desk: Desk) {}

  @Get('dead-letters')
  list(@Query() query: unknown) {
    return this.desk.list(read(listRequest, query));
  }

  @Get('dead-letters/:event_id')
  show(@Param() params: unknown) {
    return this.desk.show(read(eventId, params).event_id);
  }

  @Post('batches')
  @HttpCode(200)
  approve(@Body() body: unknown, @Req() request: FastifyRequest) {
    const approver = askedBy(request);
    return this.desk.approve({ ...read(approval, body), approver }, approver);
  }

  @Get('batches/:batch_id')
  async batch(@Param() params: unknown) {
    const batch = await this.desk.batch(read(batchId, params).batch_id);
    if (batch === undefined) throw refusals.notFound();
    return batch;
  }

  @Post('batches/:batch_id/stop')
  @HttpCode(200)
  async stop(@Param() params: unknown, @Req() request: FastifyRequest) {
    const by = askedBy(request);
    return { stopped: await this.desk.stop({ ...read(batchId, params), by }, by) };
  }
}

function read<S extends z.ZodType>(schema: S, input: unknown): z.infer<S> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw refusals.invalid(describeIssues(parsed.error.issues, input).map(({ path, ...rest }) => ({ field: path, ...rest })));
}
