import { type CallLimits, type Read, readParties } from './read-records.js';
import type { Party } from './records.js';
import type { TrytonRpc } from './rpc.js';

/** Parties that were merged one after the other. */
export const longestMerge = 8;

/** A party that was asked for, and the one that stands for it now. */
export interface Followed {
  asked: Party;
  party: Party;
  /** Ids of those on the way, the one that was asked for first; empty where it was not merged. */
  merged: number[];
}

/** Reads what parties were merged into, all of a step in one search. A party whose target is not there, or is itself, stands for itself. */
export async function followMerges(rpc: TrytonRpc, parties: readonly Party[], limits: CallLimits): Promise<Read<Followed>> {
  const known = new Map(parties.map((party) => [party.id, party]));
  for (let steps = 0; steps < longestMerge; steps += 1) {
    const targets = [...known.values()].flatMap(({ replacedBy }) => replacedBy ?? []);
    const unread = [...new Set(targets)].filter((id) => !known.has(id));
    if (unread.length === 0) break;
    const read = await readParties(rpc, [['id', 'in', unread]], limits);
    if (!read.ok) return read;
    if (read.records.length === 0) break;
    for (const party of read.records) known.set(party.id, party);
  }
  return { ok: true, records: parties.map((asked) => follow(asked, known)) };
}

function follow(asked: Party, known: ReadonlyMap<number, Party>): Followed {
  const merged: number[] = [];
  let party = asked;
  for (let next = targetOf(party, known); next !== undefined && !merged.includes(next.id); next = targetOf(party, known)) {
    merged.push(party.id);
    party = next;
  }
  return { asked, party, merged };
}

const targetOf = ({ id, replacedBy }: Party, known: ReadonlyMap<number, Party>): Party | undefined =>
  replacedBy === undefined || replacedBy === id ? undefined : known.get(replacedBy);
