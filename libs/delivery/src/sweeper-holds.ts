import type { Tx } from '#runtime';
import { destinationsToProbe, heldDestinations } from './destination/index.js';
import type { StoredRow } from './sql/stored.js';
import { blockedDestinations, destinationsOf, heldRows, hold, probeRows, sweepBatch } from './sql/sweep.js';

/** What the destinations of a service are up to, by the names of their targets. */
export interface Standing {
  /** Waiting rows must be `held`: a person holds it, or it refuses our credentials. */
  held: string[];
  /** Of these, those that some held rows are to be sent to, to see whether they are well again. */
  probe: string[];
  /** Nothing is sent now. */
  blocked: string[];
}

/** What the rows of the destinations say. */
export async function readStanding(tx: Tx): Promise<Standing> {
  return { held: await heldDestinations(tx), probe: await destinationsToProbe(tx), blocked: await blockedDestinations(tx) };
}

export interface HoldOptions {
  standing: Standing;
  /** Name of the target of a `delivery.destination`; undefined: none is configured. */
  nameOf(destination: string): string | undefined;
}

export interface SweptHolds {
  /** Rows turned to `held`. */
  held: number;
  /** Held rows that may go on, still locked. */
  free: StoredRow[];
  /** Held rows to be sent at once, still locked. */
  probes: StoredRow[];
  more: boolean;
}

/** Whether a `delivery.destination` is one of a target with such a name: a target may have many. */
export function among(names: readonly string[], nameOf: HoldOptions['nameOf']): (destination: string) => boolean {
  const wanted = new Set(names);
  return (destination) => wanted.has(nameOf(destination) ?? destination);
}

/** Holds what waits for a held destination, and finds what may go on. */
export async function sweepHolds(tx: Tx, { standing, nameOf }: HoldOptions): Promise<SweptHolds> {
  const isHeld = among(standing.held, nameOf);
  const isProbed = among(standing.probe, nameOf);
  const queued = standing.held.length === 0 ? [] : (await destinationsOf(tx, 'queued')).filter(isHeld);
  const held = queued.length === 0 ? 0 : await hold(tx, queued, queued.filter(isProbed));
  const all = (await destinationsOf(tx, 'held')).filter((destination) => nameOf(destination) !== undefined);
  const released = all.filter((destination) => !isHeld(destination));
  const free = released.length === 0 ? [] : await heldRows(tx, released);
  const probes: StoredRow[] = [];
  for (const destination of all.filter(isProbed)) probes.push(...(await probeRows(tx, destination)));
  return { held, free, probes, more: held === sweepBatch || free.length === sweepBatch };
}
