import { metrics, onScrape, type ReadinessCheck } from '#runtime';
import type { DestinationControl } from './control.js';

export interface KnownStates {
  /** Red while the state of a destination is not known: nothing is sent to it then, which no answer of a destination explains. */
  readonly readiness: ReadinessCheck;
  /** Publishes no more. */
  stop(): void;
}

/** Watches by readiness and metric whether this process knows how its destinations stand. @param controls by destination */
export function knownStates(controls: ReadonlyMap<string, Pick<DestinationControl, 'mode' | 'reason'>>): KnownStates {
  const isUnknown = (name: string): boolean => {
    const control = controls.get(name);
    return control?.mode === 'blocked' && control.reason === undefined;
  };
  const names = [...controls.keys()];
  const stop = onScrape(() => {
    for (const destination of names) metrics.destinationStateUnknown.set({ destination }, isUnknown(destination) ? 1 : 0);
  });
  return {
    readiness: {
      name: 'destination states',
      check: () => {
        const unknown = names.filter(isUnknown);
        if (unknown.length === 0) return { ok: true };
        return { ok: false, detail: `nothing is sent to ${unknown.join(', ')}: how it stands could not be read for more than 5 s` };
      },
    },
    stop: () => void stop(),
  };
}
