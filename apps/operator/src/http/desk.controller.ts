import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { z } from 'zod';
import type { OpenArea } from '../area.js';
import { listRequest } from '../dead-letters/list-letters.js';
import { Desk, serveDesk } from '../desk.js';
import { Permit } from './permit.js';
import { readInput as read } from './read-input.js';

const eventId = z.object({ event_id: z.uuid() });

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
}

/** Dead letters and commands, at both doors. */
export const deskArea: OpenArea = (tools) => {
  const desk = new Desk(tools);
  return {
    controllers: [DeskController],
    providers: [{ provide: Desk, useValue: desk }],
    serve: (server) => serveDesk(server, desk),
  };
};
