import type { QuotaPurse } from './quota-purse.js';

/** Stands before lookups: they are requests like any other to the destination that counts them. */
export interface LookupDoor {
  /**
   * May one lookup be made now? It is counted in the quota, and waits a moment for it. False: the destination is held, was told to be left
   * alone, or its quota stays used up.
   */
  admit(): Promise<boolean>;
  /** A lookup was refused because of how much is asked; everything to this destination waits. @param afterMs what it asked to wait */
  throttled(afterMs: number | undefined): void;
}

export interface LookupDoorOptions {
  /** Nothing may be asked now. */
  isShut(): boolean;
  /** Absent: no quota. */
  purse?: Pick<QuotaPurse, 'take' | 'waitMs'>;
  onThrottled(afterMs: number | undefined): void;
}

/** Shorter than what the verifier's lease allows beside the lookup itself. */
const longestWaitMs = 2_000;

/** The door of one destination in this process. */
export function lookupDoor({ isShut, purse, onThrottled }: LookupDoorOptions): LookupDoor {
  return {
    admit: async () => {
      const end = performance.now() + longestWaitMs;
      while (!isShut()) {
        if (purse === undefined || purse.take() !== undefined) return true;
        const waitMs = purse.waitMs();
        if (performance.now() + waitMs > end) return false;
        await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      }
      return false;
    },
    throttled: onThrottled,
  };
}
