import { z } from 'zod';
import { dispositions } from '#contracts';
import { inOrganizations, organizationsValue, type Person } from '../people/person.js';

const name = z.string().min(1).max(200);
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const letterTabs = ['dead', 'held', 'uncertain', 'expired', 'all'] as const;
export type LetterTab = (typeof letterTabs)[number];

/** What is named must be equal. A query string gives numbers as text. */
export const letterFilter = {
  tab: z
    .enum(letterTabs)
    .optional()
    .describe(
      '`dead`: ended without its effect; `expired`: for want of time; `uncertain`: nobody knows, from its first moment, also before there is a letter; `held`: waits; `all`: every letter.',
    ),
  destination: name.optional(),
  class: name.optional(),
  code: name.optional(),
  schema_id: z.coerce
    .number()
    .int()
    .min(0)
    .max(2_147_483_647)
    .optional()
    .describe("Of the schema the record was written with; the registry's id."),
  no_code: z.enum(['true']).optional().describe('Only what has no provider code.'),
  no_schema_id: z.enum(['true']).optional().describe('Only what could not be read as far as the id of its schema.'),
  owner: name.optional(),
  organization: name.optional(),
  disposition: z.enum(dispositions).optional(),
  assignee: name.optional(),
  group: z.guid().optional().describe('`key` of a group.'),
  q_ref: z.string().min(1).max(64).optional().describe('Reference (L-…) or event id of the lead.'),
};
const filter = z.strictObject(letterFilter);
export type LetterFilter = z.infer<typeof filter>;

/** Whose letters may be seen. */
export type Reader = Pick<Person, 'organizations'>;

/** Reads for services and for whoever holds the keys of the installation. */
export const everywhere: Reader = { organizations: '*' };

/** Conditions and their values; only what is asked for stands in the text, so that the planner sees it. */
export class Conditions {
  readonly values: unknown[] = [];
  private readonly parts: string[] = [];

  /** `condition` names the value as `?`. */
  add(condition: string, value?: unknown): this {
    this.parts.push(condition.includes('?') ? condition.replaceAll('?', this.value(value)) : condition);
    return this;
  }

  /** The parameter that stands for the value from now on. */
  value(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  get sql(): string {
    return this.parts.length === 0 ? 'true' : this.parts.join(' AND ');
  }
}

const ofTab: Readonly<Partial<Record<LetterTab, string>>> = {
  dead: "class <> 'deadline_exceeded' AND class <> 'unverified_write'",
  expired: "class = 'deadline_exceeded'",
  uncertain: "class = 'unverified_write'",
};
const equal = ['destination', 'class', 'code', 'schema_id', 'owner', 'organization', 'disposition', 'assignee'] as const;

/** What is asked for by its absence, and where. */
export const absences = [
  ['no_code', 'code'],
  ['no_schema_id', 'schema_id'],
] as const;

/** Adds what the filter asks for, and that the reader may see it. Columns are those of `dead_letter`. */
export function addFilter(conditions: Conditions, asked: LetterFilter, reader: Reader): Conditions {
  const tab = asked.tab === undefined ? undefined : ofTab[asked.tab];
  if (tab !== undefined) conditions.add(tab);
  for (const column of equal) if (asked[column] !== undefined) conditions.add(`${column} = ?`, asked[column]);
  for (const [absence, column] of absences) if (asked[absence] !== undefined) conditions.add(`${column} IS NULL`);
  if (asked.group !== undefined) conditions.add('group_key = ?::uuid', asked.group);
  if (asked.q_ref !== undefined) conditions.add(uuid.test(asked.q_ref) ? 'event_id = ?::uuid' : 'lead_ref = ?', asked.q_ref);
  return addReader(conditions, reader);
}

/** Adds that the reader may see it. */
export function addReader(conditions: Conditions, reader: Reader): Conditions {
  const organizations = organizationsValue(reader);
  if (organizations === null) return conditions;
  // One alone is read in the order of its index; of a list the planner knows no order.
  if (organizations.length === 1) return conditions.add('organization = ?', organizations[0]);
  const parameter = conditions.value(organizations);
  return conditions.add(inOrganizations('organization', Number(parameter.slice(1))));
}
