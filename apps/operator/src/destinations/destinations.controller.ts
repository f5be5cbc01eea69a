import { Body, Controller, Get, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { commandReason, deliveryName, holdSeen } from '#delivery';
import type { OpenArea } from '../area.js';
import { asker } from '../http/asked-by.js';
import { Permit } from '../http/permit.js';
import { readInput } from '../http/read-input.js';
import { DestinationDesk, services } from './destination-desk.js';
import { destinationList } from './destination-item.js';

/** As the owner takes it: another name would be refused there, after it stands in the audit. */
const named = z.object({ name: deliveryName });
const command = z.strictObject({
  reason: commandReason,
  since: holdSeen,
  service: z.enum(services).optional().describe('Where a destination and a channel have the same name; default: the destination.'),
});
const nothing = z.strictObject({});
const commanded = z.object({ applied: z.literal(true) });
const tested = z.object({ event_id: z.uuid(), organization: z.string() });

/** Where leads go: how each destination stands and is used, and what a person decides about it. */
@Controller('v1/destinations')
class DestinationsController {
  constructor(@Inject(DestinationDesk) private readonly desk: DestinationDesk) {}

  @Get()
  @Permit('list', {
    summary: 'Every destination and channel: state, limits, measured latency, backlog and drain',
    response: destinationList,
  })
  list(@Req() request: FastifyRequest) {
    return this.desk.list(asker(request));
  }

  @Post(':name/hold')
  @HttpCode(200)
  @Permit('configure', {
    summary: 'Send nothing there until it is released; leads wait and age',
    params: named,
    body: command,
    response: commanded,
  })
  hold(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    return this.command('hold', { params, body }, request);
  }

  @Post(':name/release')
  @HttpCode(200)
  @Permit('configure', { summary: 'Send there again, slowly at first', params: named, body: command, response: commanded })
  release(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    return this.command('release', { params, body }, request);
  }

  @Post(':name/test')
  @HttpCode(202)
  @Permit('configure', {
    summary: 'Hand in a test lead of a person who does not exist, for this destination alone',
    params: named,
    body: nothing,
    response: tested,
  })
  test(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    readInput(nothing, body);
    return this.desk.test(readInput(named, params).name, asker(request));
  }

  private command(what: 'hold' | 'release', { params, body }: { params: unknown; body: unknown }, request: FastifyRequest) {
    const { name: destination } = readInput(named, params);
    return this.desk.command({ destination, command: what, ...readInput(command, body) }, asker(request));
  }
}

/** Destinations for people. */
export const destinationsArea: OpenArea = ({ db, site, owners, clients }) => {
  const desk = new DestinationDesk({ db, site, owners, clients });
  return {
    controllers: [DestinationsController],
    providers: [{ provide: DestinationDesk, useValue: desk }],
    steps: { destinations: () => desk.watch() },
  };
};
