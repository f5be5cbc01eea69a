import type { Facts } from './facts.js';
import type { RowId } from './row-ids.js';
import type { World } from './world.js';

/**
 * When a row runs. Lanes of the first stage run beside each other, then crashes, then the freeze, then the period.
 * - `leads`: all rows at once, each with leads of its own
 * - `door`: one row after another, since each breaks a whole destination
 * - `replay`: one row after another
 * - `crash`: all at once, ended by one kill that they share
 * - `freeze`, `period`: alone
 */
export type Lane = 'leads' | 'door' | 'replay' | 'crash' | 'freeze' | 'period';

/** A row whose fault has been injected and whose leads are on their way. */
export interface UnderWay {
  /** What can be read of it now, from the outside: asked until it is as expected, and once more at the end of the tour. */
  read(): Promise<Facts>;
  /** How often the fault was met, by whoever met it: the sandbox, or the service whose call failed. Never by the one who injected it. */
  hits(): Promise<number>;
}

export interface TourRow {
  id: RowId;
  lane: Lane;
  /** What is done to it, as a reader of the table understands it. */
  fault: string;
  expected: Facts;
  /** Time to become what is expected, from the injection. Default 60,000. */
  limitMs?: number;
  /** Injects the fault and hands the leads in. Throws when that is impossible: the row is red. */
  begin(scene: Scene): Promise<UnderWay>;
}

/** The world as one row sees it, with names that no other row and no earlier run has. */
export interface Scene {
  world: World;
  /** Campaign of the row's leads: what its sandbox rules go by. */
  campaign: string;
  /** Name under which the sandbox counts the row's rules. */
  rule: string;
  /** Says what happens, while the row runs. */
  say(text: string): void;
}
