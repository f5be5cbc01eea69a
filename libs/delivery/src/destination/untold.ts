import type { BlockReason } from './control.js';
import type { StateEvent } from './transitions.js';

/** What this process knows and the others have not been told yet, in order. It stops this process at once. */
export class Untold {
  readonly #events: StateEvent[] = [];

  get first(): StateEvent | undefined {
    return this.#events[0];
  }

  /** Why this process sends nothing, whatever the row says. */
  get reason(): Exclude<BlockReason, 'hold'> | undefined {
    for (const { kind } of this.#events) {
      if (kind === 'failing' || kind === 'throttled') return kind;
      if (kind === 'refused') return 'auth';
    }
    return undefined;
  }

  /** The longest wait among them that a destination asked for; 0 where none asked. `undefined`: none throttled. */
  get throttledForMs(): number | undefined {
    const waits = this.#events.flatMap((event) => (event.kind === 'throttled' ? [event.afterMs ?? 0] : []));
    return waits.length === 0 ? undefined : Math.max(...waits);
  }

  add(event: StateEvent): void {
    this.#events.push(event);
  }

  shift(): void {
    this.#events.shift();
  }
}
