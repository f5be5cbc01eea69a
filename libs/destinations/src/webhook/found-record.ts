import type { ReadingConfig } from '#runtime';
import type { FoundRecord } from '../connector.js';
import { keyField } from './mapping.js';

type Fields = Record<string, unknown>;

/** A record as an answer shows it; undefined where it does not say its id. */
export function foundRecord(kind: string, item: unknown, places: ReadingConfig['record']): FoundRecord | undefined {
  const at = (place: string): unknown => valueAt(item, place);
  const ref = text(at(places.id));
  if (ref === undefined) return undefined;
  const held = places.fields === undefined ? item : at(places.fields);
  const ours = isFields(held) ? held : {};
  const changedBy = text(at(places.changedBy));
  return {
    kind,
    ref,
    key: text(ours[keyField(kind)]),
    version: text(at(places.version)),
    status: text(at(places.status)),
    createdAt: time(at(places.createdAt)),
    changedAt: time(at(places.changedAt)),
    changedBy: changedBy === undefined ? undefined : places.ours.includes(changedBy) ? 'us' : 'other',
    links: linksOf(kind, item, places),
    fields: ours,
  };
}

/** A link that is shown and empty is one that is known to be empty; one that is not shown says nothing. */
function linksOf(kind: string, item: unknown, { contact, owner }: ReadingConfig['record']): FoundRecord['links'] {
  const links: Record<string, string | undefined> = {};
  const named = kind === 'contact' ? { owner } : { contact, owner };
  for (const [name, place] of Object.entries(named)) {
    const value = valueAt(item, place);
    if (value !== undefined) links[name] = text(value);
  }
  return links;
}

/** The value at `a.b.c`; undefined where there is none. */
export function valueAt(item: unknown, place: string): unknown {
  let value = item;
  for (const name of place.split('.')) {
    if (!isFields(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Text or a number as text; undefined for anything else and for nothing. */
export function text(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** ISO 8601 in UTC. Digits alone are milliseconds since 1970. */
function time(value: unknown): string | undefined {
  const said = text(value);
  if (said === undefined) return undefined;
  const date = new Date(/^\d+$/.test(said) ? Number(said) : said);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
