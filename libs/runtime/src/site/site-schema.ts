import { z } from 'zod';
import { failureClasses, longestVaultMs } from '#contracts';
import { operator } from './operator-schema.js';
import { reading } from './reading.js';
import { destinationName, duration, httpUrl, path, refuse, secretRef, slug } from './schema-parts.js';

const source = z.strictObject({
  id: slug.describe('Unique within its organization.'),
  organization: slug,
  key_hashes: z
    .array(z.string().regex(/^sha256:[0-9a-f]{64}$/))
    .max(2)
    .default([])
    .describe('"sha256:<hex>" of each bearer key that is valid now; none: this source has no HTTP access.'),
  country: z
    .string()
    .regex(/^[A-Z]{2}$/)
    .default('US')
    .describe('ISO 3166 country in which a phone number without country code is read.'),
  trusted_trace: z.boolean().default(false).describe("Continue the caller's trace; otherwise it becomes a link."),
  requests_per_second: z.number().min(1).max(100_000).default(500).describe('More is answered with 429.'),
});

const rule = z.strictObject({
  match: z
    .strictObject({
      organization: slug.optional(),
      source: slug.optional(),
      form: z.string().min(1).optional(),
      campaign: z.string().min(1).optional(),
    })
    .default({})
    .describe('Every named field must be equal; an absent one matches anything.'),
  destinations: z.array(destinationName).min(1),
  chat: slug.optional().describe('Channel that is told about the outcome.'),
  owner: slug.optional(),
  policy: slug.default('default'),
});

const kind = z.string().regex(/^[a-z][a-z0-9_]{0,30}$/);

const update = z.strictObject({
  method: z.enum(['PATCH', 'PUT', 'POST']).default('PATCH'),
  path: path.describe('Relative to base_url, with {ref}: the id that the destination gave the record.'),
  if_match: z
    .boolean()
    .optional()
    .describe('An approved repair names the version that it was approved for as If-Match; 412: it is another by now.'),
});

const errorRule = z.strictObject({
  status: z.number().int().min(200).max(599),
  code: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/)
    .optional()
    .describe("The body's `code` or `error` (one word); absent: any."),
  operation: kind.optional().describe('Absent: any.'),
  outcome: z
    .enum(['succeeded', 'duplicate', 'throttled', 'transient', 'uncertain', 'permanent', 'auth'])
    .describe('transient: documented as not executed. duplicate: the body names the record it has already.'),
  class: z.enum(failureClasses).optional().describe('Of outcome permanent; default permanent.'),
});

const fieldName = z.string().regex(/^[A-Za-z_][\w-]*(\.[\w-]+)*$/);
const statusName = z.string().min(1).max(100);

const reconcile = z.strictObject({
  every: duration.optional().describe('Compared this often by itself; absent: when somebody asks for it.'),
  window: duration
    .prefault('24h')
    .describe('How far back a comparison by itself looks, over submission and last change; at least to where the last one ended.'),
  overlap: duration.prefault('5m').describe('How much further back it looks for what its search showed late.'),
  rate: z.number().min(0.1).max(10_000).default(20).describe('Calls per second at most; fewer while leads wait for the destination.'),
  page: z.number().int().min(1).max(500).default(200).describe('Leads compared at a time.'),
  fields: z
    .record(fieldName, z.enum(['ours', 'theirs', 'newest']))
    .default({})
    .describe('Whose value of a field is right; ours where nothing is said. newest: whoever wrote it last.'),
  status: z
    .strictObject({
      transitions: z
        .record(statusName, z.array(statusName))
        .describe('Which status may follow which; the first one named is that of a new record.'),
    })
    .optional()
    .describe('Absent: every status is right.'),
  owner: slug.optional().describe('Who is given what differs; absent: integration.'),
});

const recordId = z.number().int().min(1).max(2_147_483_647);

const tryton = z.strictObject({
  database: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$/)
    .describe('Name of the database on the server.'),
  user: z.string().min(1).describe('Login of a user that nobody else works as; `secret` is its password.'),
  company: recordId.optional().describe('Id of the company that leads belong to; absent: the one that the user works for.'),
  employees: z
    .record(slug, recordId)
    .default({})
    .describe('Id of the employee that a lead is given to, by the owner that `routing` names.'),
});

const partOfCall = (meaning: string) => z.number().int().min(1).max(120_000).optional().describe(meaning);

const destination = z.strictObject({
  connector: z.enum(['webhook', 'tryton']),
  tryton: tryton.optional().describe('Of connector tryton. base_url is then the server, such as https://crm.example.com.'),
  primary: z.boolean().default(false).describe("The lead's notification is told on this destination's outcome."),
  sandbox: z.boolean().default(false).describe('Test leads may go here.'),
  requires_consent: z.boolean().default(false),
  operations: z.array(kind).min(1).describe('Kinds in the order they are performed.'),
  base_url: httpUrl,
  secret: secretRef.describe('webhook: the signing secret (Standard Webhooks, "whsec_…"); tryton: the password.'),
  native_idempotency: z.boolean().default(false).describe('The destination honours Idempotency-Key.'),
  lookup: z
    .record(kind, path)
    .default({})
    .describe('URL template per operation, relative to base_url, with {person_key}, {external_id} or {event_id}.'),
  path: path.optional().describe('One path for all operations.'),
  paths: z.record(kind, path).optional().describe('Path per operation; default /<operation>s.'),
  updates: z
    .record(kind, update)
    .default({})
    .describe(
      'How a record that is known by its id is changed. A contact without: posted like a new one. A lead is changed by an approved repair alone.',
    ),
  protected_fields: z
    .array(z.string().regex(/^[A-Za-z_][\w-]*(\.[\w-]+)*$/))
    .default([])
    .describe('Fields of a body (phone, custom.owner) that only people may write there. A lead that carries one is a dead letter.'),
  errors: z.array(errorRule).default([]).describe('What its answers mean where that is not the usual; the first rule that fits counts.'),
  check: path.optional().describe('A cheap GET that proves credentials and reachability.'),
  timeout_ms: z.number().int().min(1).max(120_000).default(10_000).describe('Of one write, connect included.'),
  connect_timeout_ms: z
    .number()
    .int()
    .min(1)
    .max(60_000)
    .optional()
    .describe('Of one TCP and TLS connect. Default 2000, at most timeout_ms and lookup_timeout_ms.'),
  write_timeout_ms: partOfCall('Until all of a request has been taken over by the network. Default 5000, at most timeout_ms.'),
  first_byte_timeout_ms: partOfCall('From there to the first byte of the answer. Default timeout_ms.'),
  read_timeout_ms: partOfCall('From there to its last byte. Default timeout_ms.'),
  lookup_timeout_ms: z.number().int().min(1).max(120_000).optional().describe('Of one lookup or check. Default timeout_ms.'),
  max_execution: duration.prefault('60s').describe('How long it may still work on a request whose caller gave up.'),
  search_lag: duration.prefault('30s').describe('Until a lookup finds what was written.'),
  uncertain_horizon: duration.prefault('30m').describe('Uncertain for this long, a write is raised to its owner.'),
  key_retention: duration
    .prefault('30d')
    .describe('How long a repeated Idempotency-Key gets its first answer; where it is shorter than a lead may be replayed, it is none.'),
  backoff: z
    .strictObject({ base: duration.prefault('60s'), cap: duration.prefault('5m') })
    .prefault({})
    .describe('Full jitter: up to base after the first call, doubled after each, up to cap.'),
  breaker: z
    .strictObject({ cool_down: duration.prefault('15s'), longest_cool_down: duration.prefault('60s') })
    .prefault({})
    .describe('How long a failing destination is left alone before it is probed; doubled while it fails.'),
  retry_budget: z.number().min(0).max(1).default(0.2).describe('Share of requests that may be retries.'),
  quota: z
    .strictObject({ requests: z.number().int().min(1), per: duration })
    .optional()
    .describe('Requests that the destination allows in a period, over all processes.'),
  concurrency: z
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(64)
    .describe('Writes in flight at most, per process; lookups and checks have four connections beside.'),
  reading: reading.optional(),
  reconcile: reconcile.optional().describe('How what it holds is compared with what was delivered; absent: never.'),
});

const policy = z.strictObject({
  attempts: z.number().int().min(1).max(20).default(4),
  deadline: duration.optional().describe('From submitted_at. Default 4h; of the policy strict 15m.'),
  max_age: duration.prefault('7d').describe('Replays of anything older are refused.'),
});

const channel = z.strictObject({
  kind: z.enum(['telegram']),
  api_url: httpUrl,
  token: secretRef,
  chat_id: z.string().min(1),
  sandbox: z.boolean().default(false).describe('Messages about test leads may go here.'),
});

/** The site file: who may hand in leads, where they go, who is told. Texts may hold `${NAME}` and `${NAME:-default}`. */
export const siteSchema = z.strictObject({
  sources: z.array(source).min(1),
  routing: z.array(rule).default([]).describe('The first rule that matches counts.'),
  destinations: z.record(destinationName, destination),
  policies: z
    .record(slug, policy)
    .default({})
    .describe('How often and how long a lead is tried. default and strict (a deadline of 15m) are there without being named here.'),
  channels: z.record(slug, channel).default({}),
  owners: z
    .record(
      slug,
      z.strictObject({
        name: z.string().min(1),
        channel: slug.optional().describe('Told of new dead letters that this owner is to look at; absent: the first channel.'),
      }),
    )
    .default({})
    .describe('Of leads, by the names in `routing`; of dead letters: integration, operations, sales_operations and source.'),
  operator: operator.prefault({}).describe('Who may use the surface of the operator, and what one person may do alone.'),
  retention: z
    .strictObject({
      vault: duration
        .refine(
          (ms) => ms <= longestVaultMs,
          refuse('is longer than the key of a lead is kept', `Make it at most ${longestVaultMs / 86_400_000}d`),
        )
        .prefault(`${longestVaultMs / 86_400_000}d`)
        .describe('Of what a person wrote, from the acceptance of the lead; longer than any lead may be retried and replayed.'),
    })
    .prefault({}),
  limits: z.strictObject({ body_bytes: z.number().int().min(1_024).max(1_048_576).default(262_144) }).prefault({}),
});

export type SiteDocument = z.infer<typeof siteSchema>;

/** The published JSON Schema of the site file, as an editor reads it. */
export function siteJsonSchema(): unknown {
  const schema = z.toJSONSchema(siteSchema, { io: 'input', target: 'draft-2020-12' });
  return { title: 'Lead delivery site file', ...withPlaceholders(schema as JsonNode) };
}

type JsonNode = Record<string, unknown>;

/** A text with a placeholder is valid before it is filled in, whatever pattern it must meet afterwards. */
function withPlaceholders(node: JsonNode): JsonNode {
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, key === 'propertyNames' ? value : mapNode(value)]));
  if (copy.type !== 'string' || typeof copy.pattern !== 'string') return copy;
  const { type, pattern, ...rest } = copy;
  return { ...rest, type, anyOf: [{ pattern }, { pattern: '\\$\\{[A-Za-z_]' }] };
}

function mapNode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mapNode);
  return typeof value === 'object' && value !== null ? withPlaceholders(value as JsonNode) : value;
}
