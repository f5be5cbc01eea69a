import type { Sql } from '#runtime';
import { microsecondsOf, type Position, timeAt } from '../dead-letters/cursor.js';
import type { OwningService } from '../dead-letters/letter.js';
import { absences, addReader, Conditions } from '../dead-letters/letter-filter.js';
import { statementName } from '../dead-letters/statement-name.js';
import type { Person } from '../people/person.js';
import type { Filter } from './filter.js';

/** A dead letter that is to be tried again. */
export interface Chosen {
  dead_letter_id: string;
  event_id: string;
  destination: string;
  service: OwningService;
  organization: string | null;
  class: string;
  deadline_at: Date | null;
}

interface Row extends Chosen {
  /** Of its age, in microseconds. */
  position: string;
  dead_at: Date;
  fits: boolean;
  has_open_item: boolean;
}

/** Letters that one statement looks at: their rows are wide, and there may be a hundred thousand after a bad night. */
const page = 5_000;

const ofKind = ['destination', 'class', 'code', 'schema_id', 'organization'] as const;
const ofLetter = ['source', 'form'] as const;
const deadWithin = [
  ['dead_from', 'dead_at >='],
  ['dead_to', 'dead_at <'],
] as const;
const submittedWithin = [
  ['submitted_from', 'submitted_at >='],
  ['submitted_to', 'submitted_at <'],
] as const;

/** What narrow rows tell leaves out the rest before wide ones are read. */
function textOf(filter: Filter, person: Person, after: Position | undefined): { text: string; values: unknown[] } {
  const narrow = new Conditions().add('event_id IS NOT NULL AND destination IS NOT NULL');
  for (const column of ofKind) if (filter[column] !== undefined) narrow.add(`${column} = ?`, filter[column]);
  for (const [absence, column] of absences) if (filter[absence] !== undefined) narrow.add(`${column} IS NULL`);
  for (const [name, within] of deadWithin) if (filter[name] !== undefined) narrow.add(`${within} ?::timestamptz`, filter[name]);
  if (filter.event_ids !== undefined) narrow.add('event_id = ANY (?::uuid[])', filter.event_ids);
  addReader(narrow, person);
  if (after !== undefined) {
    const [time, id] = [narrow.value(after.microseconds), narrow.value(after.id)];
    narrow.add(`(age_from, dead_letter_id) > (${timeAt(time)}, ${id}::uuid)`);
  }
  const wide = [
    ...ofLetter.flatMap((column) => (filter[column] === undefined ? [] : [`d.${column} = ${narrow.value(filter[column])}`])),
    ...submittedWithin.flatMap(([name, within]) =>
      filter[name] === undefined ? [] : [`d.${within} ${narrow.value(filter[name])}::timestamptz`],
    ),
  ];
  const text = `
WITH page AS MATERIALIZED (
  SELECT dead_letter_id, age_from FROM open_letter_times JOIN letter_kind USING (kind_id) WHERE ${narrow.sql} ORDER BY age_from, dead_letter_id LIMIT ${page}
)
SELECT d.dead_letter_id, d.event_id, d.destination, d.service, d.organization, d.class, d.deadline_at, d.dead_at,
  ${microsecondsOf('page.age_from')} AS position, ${wide.length === 0 ? 'true' : `(${wide.join(' AND ')}) IS TRUE`} AS fits,
  EXISTS (SELECT FROM replay_item i WHERE i.event_id = d.event_id AND i.destination = d.destination AND i.state = 'open') AS has_open_item
FROM page JOIN dead_letter d USING (dead_letter_id) ORDER BY page.age_from, page.dead_letter_id`;
  return { text, values: narrow.values };
}

/**
 * The first `max` dead letters of a filter that the person may see, the oldest lead first; of a delivery with several open letters the newest
 * counts. Those with an open item come last.
 */
export async function choose(db: Sql, filter: Filter, { max, person }: { max: number; person: Person }): Promise<Chosen[]> {
  const [free, taken] = [new Map<string, Row>(), new Map<string, Row>()];
  let after: Position | undefined;
  do {
    const { text, values } = textOf(filter, person, after);
    const rows: Row[] = await db.sql<Row>(statementName('choose_letters', text), text, values);
    for (const row of rows) if (row.fits) keepNewest(row.has_open_item ? taken : free, row);
    const last = rows.length < page ? undefined : rows.at(-1);
    after = last && { microseconds: last.position, id: last.dead_letter_id };
  } while (after !== undefined && free.size < max);
  return [...free.values(), ...taken.values()].slice(0, max).map(toChosen);
}

function keepNewest(letters: Map<string, Row>, row: Row): void {
  const key = `${row.event_id} ${row.destination}`;
  const known = letters.get(key);
  if (known === undefined || known.dead_at < row.dead_at) letters.set(key, row);
}

function toChosen({ position: _, dead_at: __, fits: ___, has_open_item: ____, ...chosen }: Row): Chosen {
  return chosen;
}
