import { randomInt, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { InternalServer, Site } from '#runtime';
import { type AcceptTools, acceptLeads } from '../accept-leads.js';
import type { Submission } from '../submission/normalise.js';

const testLeadRequest = z.strictObject({
  destination: z.string().min(1).max(64),
  /** Whose lead it is; one that has a source. */
  organization: z.string().min(1).max(63),
});
type TestLeadRequest = z.infer<typeof testLeadRequest>;

type TestLeadAnswer =
  | { event_id: string; lead_ref: string }
  /** Why there is none. `not_sandbox`: only a destination that is declared to be a sandbox gets test leads. */
  | { refused: 'unknown_destination' | 'unknown_organization' | 'not_sandbox' };

/** Source and form of these leads. As of every test lead, only a channel that is declared a sandbox is told of them. */
const operatorTest = 'operator-test';

/**
 * POST /internal/v1/leads:test: takes in a lead of a person who does not exist, marked as a test, for one destination alone. It goes the way of any
 * other lead.
 */
export function serveTestLeads(server: InternalServer, tools: AcceptTools): void {
  server.route('/internal/v1/leads:test', { callers: ['operator'], body: testLeadRequest }, (body) => submitTestLead(tools, body));
}

async function submitTestLead(tools: AcceptTools, { destination, organization }: TestLeadRequest): Promise<TestLeadAnswer> {
  const { site, telemetry } = tools;
  const config = Object.hasOwn(site.destinations, destination) ? site.destinations[destination] : undefined;
  if (config === undefined) return { refused: 'unknown_destination' };
  if (!config.sandbox) return { refused: 'not_sandbox' };
  if (!site.sources.some((source) => source.organization === organization)) return { refused: 'unknown_organization' };
  const span = telemetry.startSpan('submit test lead', { kind: 'internal' });
  try {
    const arrival = { submission: testSubmission(organization), trace: span.context };
    const [answer] = await acceptLeads({ ...tools, site: onlyTo(site, destination) }, [arrival]);
    if (answer?.kind !== 'accepted') throw new Error('A test lead was not accepted');
    return { event_id: answer.eventId, lead_ref: answer.leadRef };
  } finally {
    span.end();
  }
}

/** The site as if every lead went to this destination alone. */
function onlyTo(site: Site, destination: string): Site {
  return { ...site, routing: [{ match: {}, destinations: [destination], policy: 'default' }] };
}

/** A new person each time: a test does not wait for one before it that hangs. The number is of a range that belongs to nobody. */
function testSubmission(organization: string): Submission {
  const id = randomUUID();
  return {
    organization,
    source: operatorTest,
    sourceEventId: `${operatorTest}-${id}`,
    form: operatorTest,
    formSlug: operatorTest,
    contact: {
      name: 'Testa Example',
      email: `test-${id.slice(0, 8)}@example.test`,
      phone: `+120255501${String(randomInt(100)).padStart(2, '0')}`,
    },
    message: 'A test of this destination. Nobody has written it.',
    consent: { given: true },
    custom: {},
    test: true,
  };
}
