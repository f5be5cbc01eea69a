import type { LeadAccepted } from '#contracts';
import type { DeliveryEngine } from '#delivery';

/** The delivery engine of each consumer group of this process. */
export class Engines {
  constructor(private readonly byGroup: ReadonlyMap<string, DeliveryEngine<LeadAccepted>>) {}

  /** @throws for a group that this process does not serve. */
  of(group: string): DeliveryEngine<LeadAccepted> {
    const engine = this.byGroup.get(group);
    if (engine === undefined) throw new Error(`no engine for the group ${group}`);
    return engine;
  }

  /** Stops all, each letting its calls in flight finish. */
  async stop(): Promise<void> {
    await Promise.all([...this.byGroup.values()].map((engine) => engine.stop()));
  }
}
