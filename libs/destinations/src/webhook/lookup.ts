import type { LookupResult } from '#delivery';
import { ConfigError, parseJsonWithDigits } from '#runtime';
import type { LookupQuery } from '../connector.js';
import type { HttpResult } from '../http/http-caller.js';
import { retryAfterMs } from '../http/retry-after.js';

const placeholders: Readonly<Record<string, (query: LookupQuery) => string>> = {
  person_key: (query) => query.personKey ?? '',
  external_id: (query) => query.eventId,
  event_id: (query) => query.eventId,
};

/** @throws ConfigError naming every unknown placeholder of a destination's lookup templates */
export function checkLookups(name: string, lookup: Record<string, string>): void {
  const problems = Object.entries(lookup).flatMap(([kind, template]) =>
    unknownPlaceholders(template).map((placeholder) => ({
      path: `destinations.${name}.lookup.${kind}`,
      problem: `has the unknown placeholder {${placeholder}}`,
      fix: 'Use {person_key}, {external_id} or {event_id}',
    })),
  );
  if (problems.length > 0) throw new ConfigError(problems);
}

/** Names in `{braces}` of a lookup template that are not known. */
export function unknownPlaceholders(template: string): string[] {
  return [...template.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name ?? '').filter((name) => !Object.hasOwn(placeholders, name));
}

/** The template with its `{person_key}`, `{external_id}` or `{event_id}` filled in, URL-encoded. References only, never personal data. */
export function lookupPath(template: string, query: LookupQuery): string {
  const path = template.replaceAll(/\{([^}]*)\}/g, (whole, name: string) => {
    const value = placeholders[name];
    return value === undefined ? whole : encodeURIComponent(value(query));
  });
  return path.startsWith('/') ? path : `/${path}`;
}

/** The path of a known record, its `{ref}` filled in. */
export function updatePath(template: string, ref: string): string {
  return template.replaceAll('{ref}', encodeURIComponent(ref));
}

/** True where the template asks for the person and the query does not know them. */
export function lacksPerson(template: string, query: LookupQuery): boolean {
  return query.personKey === undefined && template.includes('{person_key}');
}

/** True where what the template finds is the lead's own: made under its id. */
export function namesLead(template: string): boolean {
  return template.includes('{external_id}') || template.includes('{event_id}');
}

/** An array, or an object with one under `data`, `items` or `results`; 404 is absent. Anything else says nothing, 429 for how long at least. */
export function readLookup(result: HttpResult, nowMs: number): LookupResult {
  if (result.kind !== 'answered') return { kind: 'unknown', code: result.code };
  if (result.status === 404) return { kind: 'absent' };
  if (result.status === 429) {
    const afterMs = retryAfterMs([result.headers['retry-after']].flat().at(-1), nowMs);
    return { kind: 'unknown', code: 'http_429', throttled: { afterMs } };
  }
  if (result.status !== 200) return { kind: 'unknown', code: `http_${result.status}` };
  const found = listIn(result.body)?.list;
  if (found === undefined) return { kind: 'unknown', code: 'unreadable_answer' };
  const refs = found.map((item) => (item as { id?: unknown } | null)?.id).filter((id) => typeof id === 'string' || typeof id === 'number');
  if (refs.length !== found.length) return { kind: 'unknown', code: 'answer_without_id' };
  const [first] = refs;
  if (first === undefined) return { kind: 'absent' };
  return refs.length === 1 ? { kind: 'found', ref: String(first) } : { kind: 'several', refs: refs.map(String) };
}

/**
 * The records of an answer, an array or an object with one under `data`, `items` or `results`, and the whole answer. A number that a double
 * would round is its text.
 */
export function listIn(body: string | undefined): { list: unknown[]; whole: unknown } | undefined {
  try {
    const whole = parseJsonWithDigits(body ?? '') as Record<string, unknown> | null;
    const list: unknown = Array.isArray(whole) ? whole : (whole?.data ?? whole?.items ?? whole?.results);
    return Array.isArray(list) ? { list, whole } : undefined;
  } catch {
    return undefined;
  }
}
