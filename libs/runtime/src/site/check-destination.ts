import { z } from 'zod';
import type { ConfigProblem } from '../config/config-error.js';
import { hasTwins, when } from './problems.js';
import { checkReading, readableReading } from './reading.js';
import { duration } from './schema-parts.js';

const texts = z.array(z.string()).catch([]);
const templates = z.record(z.string(), z.string()).catch({});
/** Not a number where it cannot be read: no comparison with it is a problem of its own. */
const time = (standard: string) => duration.prefault(standard).catch(Number.NaN);
const milliseconds = z.number().optional().catch(Number.NaN);

const fields = z.object({
  connector: z.string().catch(''),
  tryton: z
    .object({ employees: z.record(z.string(), z.unknown()).catch({}) })
    .optional()
    .catch({ employees: {} }),
  path: z.unknown().optional(),
  check: z.unknown().optional(),
  primary: z.boolean().catch(false),
  native_idempotency: z.boolean().catch(false),
  operations: texts,
  lookup: templates,
  paths: templates,
  updates: z.record(z.string(), z.object({ path: z.string().catch('{ref}') }).catch({ path: '{ref}' })).catch({}),
  errors: z
    .array(z.object({ operation: z.string().optional(), outcome: z.string(), class: z.string().optional() }).catch({ outcome: '' }))
    .catch([]),
  timeout_ms: z.number().default(10_000).catch(Number.NaN),
  connect_timeout_ms: milliseconds,
  write_timeout_ms: milliseconds,
  first_byte_timeout_ms: milliseconds,
  read_timeout_ms: milliseconds,
  lookup_timeout_ms: milliseconds,
  max_execution: time('60s'),
  search_lag: time('30s'),
  uncertain_horizon: time('30m'),
  key_retention: time('30d'),
  backoff: z
    .object({ base: time('60s'), cap: time('5m') })
    .catch({ base: Number.NaN, cap: Number.NaN })
    .prefault({}),
  breaker: z
    .object({ cool_down: time('15s'), longest_cool_down: time('60s') })
    .catch({ cool_down: Number.NaN, longest_cool_down: Number.NaN })
    .prefault({}),
  reading: readableReading,
  reconcile: z
    .object({
      owner: z.string().optional().catch(undefined),
      every: duration.optional().catch(Number.NaN),
      status: z
        .object({ transitions: z.record(z.string(), texts).catch({}) })
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
  quota: z
    .object({ per: duration.catch(Number.NaN) })
    .optional()
    .catch(undefined),
});

/** A destination as far as it can be understood. */
export const readableDestination = fields.catch(() => fields.parse({}));

export type ReadableDestination = z.infer<typeof readableDestination>;

/** What no single field of a destination shows. `path`: where it stands in the file. */
export function checkDestination(destination: ReadableDestination, path: string): ConfigProblem[] {
  return [
    ...checkConnector(destination, path),
    ...checkOperations(destination, path),
    ...checkTemplates(destination, path),
    ...checkTimes(destination, path),
    ...checkReading(destination, path),
    ...checkReconcile(destination, `${path}.reconcile`),
  ];
}

function checkReconcile({ reconcile }: ReadableDestination, path: string): ConfigProblem[] {
  const transitions = reconcile?.status?.transitions ?? {};
  return [
    ...when(reconcile?.every === 0, { path: `${path}.every`, problem: 'is no time at all', fix: 'Make it longer than 0' }),
    ...Object.entries(transitions).flatMap(([status, followers]) =>
      when(
        followers.some((follower) => !Object.hasOwn(transitions, follower)),
        {
          path: `${path}.status.transitions.${status}`,
          problem: 'leads to a status that is not described',
          fix: 'Name that status too, with [] where nothing follows it',
        },
      ),
    ),
  ];
}

/** Settings that say how a webhook is called, and mean nothing to a CRM whose calls are known. */
const ofWebhooks = ['path', 'paths', 'lookup', 'updates', 'errors', 'check', 'native_idempotency'] as const;

function checkConnector(destination: ReadableDestination, path: string): ConfigProblem[] {
  const isTryton = destination.connector === 'tryton';
  const { operations } = destination;
  return [
    ...when(isTryton === (destination.tryton === undefined), {
      path: `${path}.tryton`,
      problem: isTryton ? 'is missing' : 'goes with connector tryton alone',
      fix: isTryton ? 'Give the database and the user' : 'Remove it',
    }),
    ...when(isTryton && operations.length > 0 && !['contact', 'contact,lead'].includes(operations.join()), {
      path: `${path}.operations`,
      problem: 'is not what Tryton is given: a party, and the opportunity that hangs on it',
      fix: 'Write [contact, lead]',
    }),
    ...ofWebhooks.flatMap((name) =>
      when(isTryton && isGiven(destination[name]), {
        path: `${path}.${name}`,
        problem: 'goes with connector webhook alone',
        fix: 'Remove it',
      }),
    ),
  ];
}

const isGiven = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value !== undefined && value !== false;

function checkOperations({ operations, lookup, paths, updates, errors }: ReadableDestination, path: string): ConfigProblem[] {
  const named = [
    ...Object.entries({ lookup, paths, updates }).flatMap(([field, map]) =>
      Object.keys(map).map((kind) => ({ kind, at: `${path}.${field}.${kind}` })),
    ),
    ...errors.map(({ operation }, index) => ({ kind: operation, at: `${path}.errors[${index}].operation` })),
  ];
  return [
    ...when(hasTwins(operations), { path: `${path}.operations`, problem: 'names an operation twice', fix: 'Name each operation once' }),
    ...named.flatMap(({ kind, at }) =>
      when(kind !== undefined && !operations.includes(kind), {
        path: at,
        problem: 'is no operation of this destination',
        fix: 'Name one of its operations',
      }),
    ),
    ...errors.flatMap((rule, index) =>
      when(rule.class !== undefined && rule.outcome !== 'permanent', {
        path: `${path}.errors[${index}].class`,
        problem: 'goes with outcome permanent alone',
        fix: 'Remove it, or make the outcome permanent',
      }),
    ),
  ];
}

const lookupPlaceholders = ['person_key', 'external_id', 'event_id'];

function checkTemplates({ lookup, updates }: ReadableDestination, path: string): ConfigProblem[] {
  return [
    ...Object.entries(lookup).flatMap(([kind, template]) =>
      when(
        placeholdersOf(template).some((name) => !lookupPlaceholders.includes(name)),
        {
          path: `${path}.lookup.${kind}`,
          problem: 'has an unknown placeholder',
          fix: `Use ${lookupPlaceholders.map((name) => `{${name}}`).join(', ')}`,
        },
      ),
    ),
    ...Object.entries(updates).flatMap(([kind, update]) =>
      when(placeholdersOf(update.path).join() !== 'ref', {
        path: `${path}.updates.${kind}.path`,
        problem: 'does not say which record, or has an unknown placeholder',
        fix: 'Put {ref} where the id of the record goes',
      }),
    ),
  ];
}

const placeholdersOf = (template: string): string[] => [...template.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name ?? '');

const partsOfCall = ['connect_timeout_ms', 'write_timeout_ms', 'first_byte_timeout_ms', 'read_timeout_ms'] as const;

function checkTimes(destination: ReadableDestination, path: string): ConfigProblem[] {
  const { timeout_ms: timeoutMs, connect_timeout_ms: connectMs, lookup_timeout_ms: lookupMs, backoff, breaker, quota } = destination;
  const { max_execution: executionMs, search_lag: lagMs, uncertain_horizon: horizonMs } = destination;
  const longerThan = (field: string, other: string): ConfigProblem => ({
    path: `${path}.${field}`,
    problem: `is longer than ${other}`,
    fix: `Make it at most ${other}`,
  });
  const canBeAsked = destination.connector === 'tryton' || Object.keys(destination.lookup).length > 0;
  const positive = { 'backoff.base': backoff.base, 'breaker.cool_down': breaker.cool_down, 'quota.per': quota?.per };
  return [
    ...partsOfCall.flatMap((field) => when((destination[field] ?? 0) > timeoutMs, longerThan(field, 'timeout_ms'))),
    ...when((connectMs ?? 0) > (lookupMs ?? Number.POSITIVE_INFINITY), longerThan('connect_timeout_ms', 'lookup_timeout_ms')),
    ...when(backoff.base > backoff.cap, longerThan('backoff.base', 'backoff.cap')),
    ...when(breaker.cool_down > breaker.longest_cool_down, longerThan('breaker.cool_down', 'breaker.longest_cool_down')),
    ...Object.entries(positive).flatMap(([field, ms]) =>
      when(ms === 0, { path: `${path}.${field}`, problem: 'is no time at all', fix: 'Make it longer than 0' }),
    ),
    // Raised before two lookups could have told, every uncertain write would be a person's.
    ...when(canBeAsked && horizonMs < timeoutMs + executionMs + 2 * lagMs, {
      path: `${path}.uncertain_horizon`,
      problem: 'is shorter than timeout_ms, max_execution and two search_lag together',
      fix: 'Lengthen it: nobody could have been asked twice by then',
    }),
  ];
}
