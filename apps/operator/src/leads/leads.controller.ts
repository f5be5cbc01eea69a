import { Body, Controller, Get, Header, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { CommandRequest } from '#delivery';
import type { OpenArea } from '../area.js';
import { asker } from '../http/asked-by.js';
import { Permit } from '../http/permit.js';
import { readInput } from '../http/read-input.js';
import { reconcilerApi } from '../reconciliation/reconciler-api.js';
import { actionAnswer, discardAction, evidenceAction, lookupAction } from './delivery-actions.js';
import { intakeApi } from './intake-api.js';
import { LeadDesk } from './lead-desk.js';
import { revealAnswer, revealRequest } from './reveal.js';
import { searchAnswer, searchRequest } from './search.js';
import { timeline } from './timeline-shape.js';

const lead = z.object({ event_id: z.uuid().transform((id) => id.toLowerCase()) });
/** What is about a person stays with whoever asked for it. */
const noStore = () => Header('Cache-Control', 'no-store');

/** Finding a lead, seeing where it is, and what can be done about one delivery of it. */
@Controller('v1')
class LeadsController {
  constructor(@Inject(LeadDesk) private readonly desk: LeadDesk) {}

  @Post('search')
  @HttpCode(200)
  @noStore()
  @Permit('list', {
    summary: 'Find leads by any of their ids, or by an e-mail address or phone number, which is hashed and kept nowhere',
    body: searchRequest,
    response: searchAnswer,
  })
  search(@Body() body: unknown, @Req() request: FastifyRequest) {
    return this.desk.search(readInput(searchRequest, body), asker(request));
  }

  @Get('leads/:event_id')
  @noStore()
  @Permit('list', { summary: 'Where a lead is, how it came there and what happens next', params: lead, response: timeline })
  timeline(@Param() params: unknown, @Req() request: FastifyRequest) {
    return this.desk.timeline(readInput(lead, params).event_id, asker(request));
  }

  @Post('leads/:event_id/reveal')
  @HttpCode(200)
  @noStore()
  @Permit('reveal', {
    summary: 'See in the clear what the lead said, for five minutes; who did, and why, stands in the audit',
    params: lead,
    body: revealRequest,
    response: revealAnswer,
  })
  reveal(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    const { event_id: eventId } = readInput(lead, params);
    return this.desk.reveal({ eventId, ...readInput(revealRequest, body) }, asker(request));
  }

  @Post('leads/:event_id/deliveries/lookup')
  @HttpCode(200)
  @Permit('replay_request', {
    summary: 'Have a destination asked now whether it has an uncertain operation',
    params: lead,
    body: lookupAction,
    response: actionAnswer,
  })
  lookup(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    return this.act(params, request, { ...readInput(lookupAction, body), command: 'lookup' });
  }

  @Post('leads/:event_id/deliveries/evidence')
  @HttpCode(200)
  @Permit('replay_request', {
    summary: 'Record what you found at the destination about an operation',
    params: lead,
    body: evidenceAction,
    response: actionAnswer,
  })
  evidence(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    return this.act(params, request, { ...readInput(evidenceAction, body), command: 'evidence' });
  }

  @Post('leads/:event_id/deliveries/discard')
  @HttpCode(200)
  @Permit('replay_request', { summary: 'End a delivery for good', params: lead, body: discardAction, response: actionAnswer })
  discard(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    return this.act(params, request, { ...readInput(discardAction, body), command: 'discard' });
  }

  private act(params: unknown, request: FastifyRequest, { service, ...about }: Unsigned & { service: 'crm-writer' | 'notifier' }) {
    const { event_id: eventId } = readInput(lead, params);
    const person = asker(request);
    return this.desk.act({ eventId, service, command: { ...about, event_id: eventId, by: person.subject } }, person);
  }
}

type OfDelivery = Extract<CommandRequest, { event_id: string }>;
/** A command without its lead and the person, which the request brings. */
type Unsigned = OfDelivery extends infer C ? (C extends OfDelivery ? Omit<C, 'event_id' | 'by'> : never) : never;

/** Search, timeline, reveal and the actions on one delivery. */
export const leadsArea: OpenArea = ({ db, site, owners, clients, logger }) => {
  const compares = clients.get('reconciler');
  const reconciler = compares && reconcilerApi(compares);
  const desk = new LeadDesk({ db, site, owners, intake: intakeApi(clients.get('intake')), reconciler, logger });
  return { controllers: [LeadsController], providers: [{ provide: LeadDesk, useValue: desk }] };
};
