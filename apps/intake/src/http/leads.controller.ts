import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ReadConsent, readConsent } from '../consent/consent-body.js';
import { Consents } from '../consent/consents.js';
import { isUuid } from '../is-uuid.js';
import type { Journey } from '../journey/journey.js';
import { LeadJourneys } from '../journey/lead-journeys.js';
import { normalise } from '../submission/normalise.js';
import { type ReadBody, readBody } from '../submission/read-body.js';
import { type Caller, callerOf } from './caller.js';
import { HttpAcceptance } from './http-acceptance.js';
import { type Refusal, refusals } from './refusal.js';

/** The HTTP door. Every refusal is thrown and sent by the filter; the deadline may have answered before either. */
@Controller('v1/leads')
export class LeadsController {
  constructor(
    private readonly acceptance: HttpAcceptance,
    private readonly journeys: LeadJourneys,
    private readonly consents: Consents,
  ) {}

  @Post()
  async submit(@Req() request: FastifyRequest<{ Body?: Buffer }>, @Res() reply: FastifyReply): Promise<void> {
    const caller = authenticated(request);
    const read = readBody(request.body ?? Buffer.alloc(0), idempotencyKey(request));
    // Before anything is refused: what became of a test lead is nobody's business figure.
    caller.test = read.test;
    if (!read.ok) throw read.reason === 'malformed' ? refusals.malformed(read.detail) : fieldRefusal(read);
    const normal = normalise(read.raw, caller.source, read.idField);
    if (!normal.ok) throw refusals.invalid(normal.errors);

    const answer = await this.acceptance.accept(normal.submission, caller);
    if (reply.sent) return;
    if (answer.kind === 'invalid') throw refusals.invalid(answer.errors);
    caller.eventId = answer.eventId;
    if (answer.kind === 'conflict') throw refusals.conflict(answer.eventId, read.idField, answer.consentAlone);
    caller.outcome = answer.kind;
    if (answer.kind === 'replayed') reply.header('idempotency-replayed', 'true');
    void reply
      .code(202)
      .header('location', `/v1/leads/${answer.eventId}`)
      .header('traceresponse', caller.span.context.traceparent)
      .type('application/json')
      .send(`{"event_id":"${answer.eventId}","lead_ref":"${answer.leadRef}","status":"accepted"}`);
  }

  @Post(':event_id/consent')
  async withdrawConsent(
    @Req() request: FastifyRequest<{ Params: { event_id: string }; Body?: Buffer }>,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { event_id: eventId } = request.params;
    if (!isUuid(eventId)) throw refusals.notFound();
    const caller = authenticated(request);
    const read = readConsent(request.body ?? Buffer.alloc(0));
    if (!read.ok) throw consentRefusal(read);
    const { organization, id } = caller.source;
    const result = await this.consents.withdraw({ organization, source: id }, eventId.toLowerCase(), read.at);
    if (reply.sent) return;
    if (result === 'unknown') throw refusals.notFound();
    caller.outcome = 'consent_withdrawn';
    caller.eventId = eventId.toLowerCase();
    void reply
      .code(200)
      .type('application/json')
      .send(JSON.stringify({ event_id: caller.eventId, consent: { given: false } }));
  }

  @Get(':event_id')
  async byEventId(@Req() request: FastifyRequest<{ Params: { event_id: string } }>, @Res() reply: FastifyReply): Promise<void> {
    const { event_id: eventId } = request.params;
    if (!isUuid(eventId)) throw refusals.notFound();
    const caller = authenticated(request);
    sendJourney(reply, caller, await this.journeys.byEventId(caller.source, eventId));
  }

  @Get()
  async bySourceEventId(
    @Req() request: FastifyRequest<{ Querystring: Record<string, unknown> }>,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const sourceEventId = request.query.source_event_id;
    if (typeof sourceEventId !== 'string' || sourceEventId === '') {
      throw refusals.query([
        { field: 'source_event_id', problem: 'is missing or sent more than once', fix: 'Ask with ?source_event_id=<id>, once.' },
      ]);
    }
    const caller = authenticated(request);
    sendJourney(reply, caller, await this.journeys.bySourceEventId(caller.source, sourceEventId));
  }
}

function authenticated(request: FastifyRequest): Caller {
  const caller = callerOf(request);
  if (!caller) throw refusals.unauthorized();
  return caller;
}

function fieldRefusal({ reason, errors }: Extract<ReadBody, { errors: unknown }>): Refusal {
  const refuse = { repeated: refusals.repeated, missing_id: refusals.missingId, invalid: refusals.invalid }[reason];
  return refuse(errors);
}

function consentRefusal(read: Exclude<ReadConsent, { ok: true }>): Refusal {
  if ('malformed' in read) return refusals.malformed(read.malformed);
  return read.repeated ? refusals.repeated(read.errors) : refusals.invalid(read.errors);
}

/** Node joins a repeated header into one text, which would be a third id that nobody sent. */
function idempotencyKey(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return undefined;
  if ((request.raw.headersDistinct['idempotency-key']?.length ?? 0) > 1) {
    throw refusals.invalid([{ field: 'Idempotency-Key', problem: 'is sent more than once', fix: 'Send it once.' }]);
  }
  return Array.isArray(header) ? header[0] : header;
}

function sendJourney(reply: FastifyReply, caller: Caller, journey: Journey | undefined): void {
  if (reply.sent) return;
  if (!journey) throw refusals.notFound();
  caller.outcome = 'found';
  caller.eventId = journey.event_id;
  void reply.code(200).header('cache-control', 'no-store').type('application/json').send(JSON.stringify(journey));
}
