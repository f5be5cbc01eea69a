import type { ReplayFacts } from '#delivery';
import { groupBy } from '../group-by.js';
import { factsPage, type ReplayOwner } from './replay-owner.js';

interface Named {
  event_id: string;
  destination: string;
  service: string;
}

/** Rows in parts of what one request takes. */
export function* pagesOf<T>(rows: readonly T[], size = factsPage): Generator<T[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size);
}

/** What the owners say of each row now, in the order of the rows. Rejects while one of them does not answer: nothing is judged on a guess. */
export async function factsOf(replays: ReadonlyMap<string, ReplayOwner>, rows: readonly Named[]): Promise<(ReplayFacts | undefined)[]> {
  const found = new Map<Named, ReplayFacts | undefined>();
  for (const [service, own] of groupBy(rows, (row) => row.service)) {
    const owner = replays.get(service);
    if (owner === undefined) continue;
    for (const page of pagesOf(own)) {
      const facts = await owner.facts(page);
      for (const [index, row] of page.entries()) found.set(row, facts[index]);
    }
  }
  return rows.map((row) => found.get(row));
}
