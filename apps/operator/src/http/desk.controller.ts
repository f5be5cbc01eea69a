import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OpenArea } from '../area.js';
import { approveRequest } from '../batches/approve-items.js';
import { listRequest } from '../dead-letters/list-letters.js';
import { Desk, serveDesk } from '../desk.js';
import { asker } from './asked-by.js';
import { Permit } from './permit.js';
import { readInput as read } from './read-input.js';
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
  @Permit('list')
  list(@Query() query: unknown) {
    return this.desk.list(read(listRequest, query));
  }

  @Get('dead-letters/:event_id')
  @Permit('list')
  show(@Param() params: unknown) {
    return this.desk.show(read(eventId, params).event_id);
  }

  @Post('batches')
  @Permit('replay_approve')
  @HttpCode(200)
  approve(@Body() body: unknown, @Req() request: FastifyRequest) {
    const approver = asker(request).subject;
    return this.desk.approve({ ...read(approval, body), approver }, approver);
  }

  @Get('batches/:batch_id')
  @Permit('list')
  async batch(@Param() params: unknown) {
    const batch = await this.desk.batch(read(batchId, params).batch_id);
    if (batch === undefined) throw refusals.notFound();
    return batch;
  }

  @Post('batches/:batch_id/stop')
  @Permit('replay_request')
  @HttpCode(200)
  async stop(@Param() params: unknown, @Req() request: FastifyRequest) {
    const by = asker(request).subject;
    return { stopped: await this.desk.stop({ ...read(batchId, params), by }, by) };
  }
}

/** Dead letters, batches and commands, at both doors. */
export const deskArea: OpenArea = (tools) => {
  const desk = new Desk(tools);
  return {
    controllers: [DeskController],
    providers: [{ provide: Desk, useValue: desk }],
    serve: (server) => serveDesk(server, desk, tools),
  };
};
