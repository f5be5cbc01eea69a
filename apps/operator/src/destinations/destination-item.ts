import { z } from 'zod';
import { unclaimedUnknowns } from '#delivery';

const percentiles = z.object({ p50: z.number(), p95: z.number(), p99: z.number(), count: z.number().int() });
const time = z.iso.datetime();

export const unclaimedFigure = z
  .object({
    count: z.number().int().optional(),
    at_most: z.boolean().optional().describe('`count` is an upper bound: not every record was looked at yet.'),
    oldest_at: time.optional().describe('When the oldest of them was submitted.'),
    unknown: z
      .enum(unclaimedUnknowns)
      .optional()
      .describe('Why there is no `count`: Kafka does not answer or refuses, or the group has no committed position.'),
  })
  .optional()
  .describe(
    'Leads on the topic that no process has taken up yet, test leads included: while nothing is sent there none is. Absent: of a channel, or nobody answers.',
  );
export type UnclaimedFigure = z.infer<typeof unclaimedFigure>;

export const destinationItem = z.object({
  service: z.string().describe('Whose it is: crm-writer for a CRM, notifier for a channel.'),
  destination: z.string(),
  configured: z.boolean().describe('False: the site file does not name it any more.'),
  mode: z
    .enum(['flowing', 'ramping', 'probing', 'blocked', 'unknown'])
    .describe('blocked: nothing is sent, because of `reason`. ramping: some, more each second. unknown: its service does not answer.'),
  reason: z.enum(['failing', 'throttled', 'auth', 'hold']).optional(),
  hold: z.object({ by: z.string(), reason: z.string(), since: time }).optional().describe('A person holds it until a person releases it.'),
  open_until: time.optional().describe('No probe before then.'),
  cool_downs: z.number().int().describe('Rests in a row; 0 while it is not blocked.'),
  breaker: z.enum(['closed', 'half_open', 'open', 'unknown']),
  breaker_rest: z.object({ first_ms: z.number(), longest_ms: z.number() }).optional().describe('How long it is left alone after failures.'),
  quota: z
    .object({
      requests: z.number().int(),
      per_ms: z.number(),
      limit: z.number().int().describe('Requests that may be made at once, so that no span of `per_ms` sees more than `requests`.'),
      left: z.number().int().describe('Of `limit`, now.'),
    })
    .optional(),
  concurrency: z.number().int().optional().describe('Calls under way at most, per process.'),
  retry_budget: z.number().optional().describe('Share of calls that may be retries while it fails.'),
  timeouts: z
    .object({
      connect_ms: z.number(),
      write_ms: z.number().optional().describe('From a connection until the network has all of the request.'),
      first_byte_ms: z.number().optional().describe('From there to the first byte of the answer.'),
      read_ms: z.number().optional().describe('From there to its last byte.'),
      total_ms: z.number().describe('Of a whole call; a part never waits longer than is left of it.'),
      lookup_ms: z.number().describe('The same of a lookup.'),
    })
    .optional()
    .describe('A part that is absent waits for what is left of the whole.'),
  latency: z
    .object({
      connect: percentiles.optional().describe('Until there was a connection, where one had to be made.'),
      first_byte: percentiles.optional().describe('From the request to the answer’s headers.'),
      total: percentiles.optional(),
      by_hour: z
        .array(percentiles.extend({ at: time, connect: percentiles.optional(), first_byte: percentiles.optional() }))
        .describe('Of whole calls, and of their parts where those were measured; the oldest hour first.'),
    })
    .describe('Of the calls of the last 24 hours, in milliseconds to within 5 %, some seconds late. What was not measured is absent.'),
  backlog: z.object({
    waiting: z.number().int(),
    held: z.number().int(),
    uncertain: z.number().int(),
    unclaimed: unclaimedFigure,
    oldest_at: time.optional().describe('When the oldest that waits, is held or is unclaimed was submitted.'),
  }),
  drain: z
    .object({ left: z.number().int(), total: z.number().int(), rate_per_s: z.number(), eta_s: z.number().nullable() })
    .optional()
    .describe('While a backlog goes down: of what waits, is held and is unclaimed. Absent also while the last is not known.'),
  test: z.object({ possible: z.boolean(), why_not: z.string().optional() }).describe('Whether a test lead can be sent there.'),
  as_of: time.optional().describe('By the clock of its service’s database.'),
});
export type DestinationItem = z.infer<typeof destinationItem>;

export const destinationList = z.object({
  items: z.array(destinationItem),
  unavailable: z.array(z.string()).describe('Services that do not answer now.'),
});
export type DestinationList = z.infer<typeof destinationList>;
