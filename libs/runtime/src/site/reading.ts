import { z } from 'zod';
import type { ConfigProblem } from '../config/config-error.js';
import { when } from './problems.js';

/** Where a record, as the destination shows it, says what comparing needs: paths such as `version` or `meta.version`. */
export interface RecordFields {
  id: string;
  version: string;
  status: string;
  createdAt: string;
  changedAt: string;
  changedBy: string;
  /** Values of `changedBy` that mean our own credentials. */
  ours: string[];
  contact: string;
  owner: string;
  /** Object that holds the fields of our bodies; absent: the record itself. */
  fields?: string;
  /** In an answer, beside the records: where the next page begins. */
  next: string;
}

/** How records are read for comparing, beyond the lookup of a single one. Every template is relative to baseUrl. */
export interface ReadingConfig {
  /** By operation kind: many records by our keys, and by the destination's ids. */
  many: Record<string, { keys?: string; refs?: string }>;
  /** Keys or ids in one such call. */
  limit: number;
  /** By operation kind: a page of what was made or changed in a time. */
  changedSince: Record<string, string>;
  record: RecordFields;
}

const kind = z.string().regex(/^[a-z][a-z0-9_]{0,30}$/);
const path = z.string().regex(/^\/[^\s]*$/);
const place = z.string().regex(/^[A-Za-z_][\w-]*(\.[\w-]+)*$/);

export const reading = z
  .strictObject({
    many: z
      .record(
        kind,
        z.strictObject({
          keys: path
            .optional()
            .describe('URL template with {external_ids}, {event_ids} or {person_keys}: `a,b`; `id={external_ids*}`: `id=a&id=b`.'),
          refs: path.optional().describe('URL template with {refs}, the ids that the destination gave: `a,b`; `id={refs*}`: `id=a&id=b`.'),
        }),
      )
      .default({})
      .describe(
        'How many records of an operation are read at once. The answer holds every record of each key, none but these, and no more pages.',
      ),
    limit: z.number().int().min(1).max(200).default(100).describe('Keys or ids in one call; 200 fill 8 to 16 KB of URL.'),
    changed_since: z
      .record(kind, path)
      .default({})
      .describe(
        'URL template of what was made or changed from {from} on and before {to} (ISO 8601), oldest change first, {limit} on a page; {cursor}: the `next` of the page before. A parameter without a value is left out.',
      ),
    record: z
      .strictObject({
        id: place.default('id'),
        version: place.default('version').describe('Grows or changes with every change.'),
        status: place.default('status'),
        created_at: place.default('created_at').describe('ISO 8601, or milliseconds.'),
        changed_at: place.default('changed_at'),
        changed_by: place
          .default('changed_by')
          .describe('Who changed it last; where it says nothing, human changes are told by version and value alone.'),
        ours: z.array(z.string()).default(['us']).describe('Values of changed_by that mean our own credentials.'),
        contact: place.default('contact_id').describe('The contact that a lead hangs on.'),
        owner: place.default('owner'),
        fields: place.optional().describe('Object with the fields of our bodies; absent: the record itself.'),
        next: place.default('next').describe('Beside the records in an answer: where the next page begins.'),
      })
      .prefault({})
      .describe('Where a record says what comparing needs. A place that it does not have is as if it said nothing.'),
  })
  .describe('How records are read for comparing. Absent: by single lookups, which tell of nothing but whether a record is there.');

export function toReading({ many, limit, changed_since: changedSince, record }: z.infer<typeof reading>): ReadingConfig {
  const { created_at: createdAt, changed_at: changedAt, changed_by: changedBy, ...same } = record;
  return { many, limit, changedSince, record: { ...same, createdAt, changedAt, changedBy } };
}

const templates = z.record(z.string(), z.string()).catch({});

/** `reading` as far as it can be understood. */
export const readableReading = z
  .object({
    many: z
      .record(
        z.string(),
        z.object({ keys: z.string().optional().catch(undefined), refs: z.string().optional().catch(undefined) }).catch({}),
      )
      .catch({}),
    changed_since: templates,
  })
  .optional()
  .catch(undefined);

/** What no single field of it shows: templates without a place for what is asked for, or with an unknown one. `path`: of the destination. */
export function checkReading(
  {
    reading: given,
    operations,
    connector,
  }: { reading?: z.infer<typeof readableReading>; operations: readonly string[]; connector: string },
  path: string,
): ConfigProblem[] {
  if (given === undefined) return [];
  const at = `${path}.reading`;
  const others = when(connector !== 'webhook', { path: at, problem: 'goes with the connector webhook alone', fix: 'Remove it' });
  const many = Object.entries(given.many).flatMap(([name, { keys, refs }]) => [
    ...kindMustExist(name, { operations, at: `${at}.many.${name}` }),
    ...mustHold(keys, { names: ['external_ids', 'event_ids', 'person_keys'], at: `${at}.many.${name}.keys` }),
    ...mustHold(refs, { names: ['refs'], at: `${at}.many.${name}.refs` }),
  ]);
  const changed = Object.entries(given.changed_since).flatMap(([name, template]) => [
    ...kindMustExist(name, { operations, at: `${at}.changed_since.${name}` }),
    ...mustHold(template, { names: ['from'], beside: ['to', 'limit', 'cursor'], at: `${at}.changed_since.${name}` }),
  ]);
  return [...others, ...many, ...changed];
}

function kindMustExist(name: string, { operations, at }: { operations: readonly string[]; at: string }): ConfigProblem[] {
  return when(!operations.includes(name), { path: at, problem: 'is no operation of this destination', fix: 'Name one of its operations' });
}

/** One of `names`, and no other placeholder than these and those `beside`. */
function mustHold(
  template: string | undefined,
  { names, beside = [], at }: { names: string[]; beside?: string[]; at: string },
): ConfigProblem[] {
  if (template === undefined) return [];
  const held = [...template.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name.replace(/\*$/, ''));
  const isRight = held.some((name) => names.includes(name)) && held.every((name) => names.includes(name) || beside.includes(name));
  const fix = `Use ${[...names, ...beside].map((name) => `{${name}}`).join(', ')}`;
  return when(!isRight, { path: at, problem: 'does not say what is asked for, or has an unknown placeholder', fix });
}
