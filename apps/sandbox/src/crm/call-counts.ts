import type { CrmKind } from './crm-record.js';

export type CountedCall = CrmKind | 'lookup';

/** Requests per external id and what they asked for, whatever became of them. */
export class CallCounts {
  private readonly counts = new Map<string, Record<CountedCall, number>>();

  /** A request that names no record is not counted. */
  add(externalId: string | undefined, asked: CountedCall): void {
    if (externalId === undefined || externalId === '') return;
    const counted = this.counts.get(externalId) ?? { contact: 0, lead: 0, lookup: 0 };
    counted[asked] += 1;
    this.counts.set(externalId, counted);
  }

  of(externalId: string): Record<CountedCall, number> {
    return this.counts.get(externalId) ?? { contact: 0, lead: 0, lookup: 0 };
  }

  clear(): void {
    this.counts.clear();
  }
}
