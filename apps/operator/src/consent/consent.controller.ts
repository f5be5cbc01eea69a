import { Body, Controller, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { reasonText } from '#delivery';
import { type Database, type InternalClient, InternalUnavailable, instant } from '#runtime';
import type { OpenArea } from '../area.js';
import { actor, audit } from '../audit/audit.js';
import { asker } from '../http/asked-by.js';
import { Permit } from '../http/permit.js';
import { readInput } from '../http/read-input.js';
import { refusals } from '../http/refusal.js';
import { type IntakeApi, intakeApi } from '../leads/intake-api.js';
import { visibleLead } from '../leads/visible-lead.js';

const lead = z.object({ event_id: z.uuid().transform((id) => id.toLowerCase()) });
const consentRequest = z.strictObject({
  given: z.literal(false).describe('Consent can only be withdrawn here.'),
  at: instant.optional().describe('When the person withdrew it; default: now.'),
  reason: reasonText.min(1),
});
const consentAnswer = z.object({ event_id: z.string(), result: z.enum(['withdrawn', 'gone']) });

interface ConsentTools {
  db: Database;
  intake: IntakeApi;
  client: Pick<InternalClient, 'post'> | undefined;
}

const consentTools = Symbol('consent tools');

/** For a person who withdraws consent by telephone or by letter. */
@Controller('v1/leads')
class ConsentController {
  constructor(@Inject(consentTools) private readonly tools: ConsentTools) {}

  @Post(':event_id/consent')
  @HttpCode(200)
  @Permit('replay_request', {
    summary: 'Note that the person withdrew consent: nothing more of the lead goes to a destination that requires it',
    params: lead,
    body: consentRequest,
    response: consentAnswer,
  })
  async withdraw(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest): Promise<z.infer<typeof consentAnswer>> {
    const { event_id } = readInput(lead, params);
    const { at, reason: why } = readInput(consentRequest, body);
    const person = asker(request);
    const { db, client } = this.tools;
    const { organization } = await visibleLead(this.tools, event_id, person);
    if (client === undefined) throw new InternalUnavailable('INTERNAL_URLS does not name intake');
    // Noted before it is said: what was stopped is never unnoted, and at worst something is noted that was not stopped.
    await audit(db, { ...actor(person), action: 'consent.withdraw', organization, subject: { event_id, reason: why, ...(at && { at }) } });
    const { result } = await client.post<{ result: 'withdrawn' | 'gone' | 'unknown' }>('/internal/v1/consent:withdraw', { event_id, at });
    if (result === 'unknown') throw refusals.notFound();
    return { event_id, result };
  }
}

export const consentArea: OpenArea = ({ db, clients }) => {
  const client = clients.get('intake');
  return { controllers: [ConsentController], providers: [{ provide: consentTools, useValue: { db, intake: intakeApi(client), client } }] };
};
