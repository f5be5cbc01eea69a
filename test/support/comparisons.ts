import { expect } from '@jest/globals';
import type { Discrepancy, ReconcileRun } from '#delivery';
import { eventually } from './eventually.js';
import type { OperatorClient } from './operator.js';

/** Comparisons as a person on duty asks for them, and what they found. */
export class Comparisons {
  constructor(
    private readonly operator: OperatorClient,
    private readonly from: Date,
  ) {}

  /** Compares everything submitted until now, and waits until that is done. */
  async run(destination: string): Promise<ReconcileRun> {
    const { run_id } = await eventually(async () => {
      const { status, body } = await this.operator.ask<{ run_id: string }>('operator', 'reconciliation/runs', {
        destination,
        from: this.from.toISOString(),
      });
      expect({ status, body }).toMatchObject({ status: 202 });
      return body;
    });
    return eventually(async () => {
      const { body } = await this.operator.ask<{ items: ReconcileRun[] }>('viewer', `reconciliation/runs?run_id=${run_id}`);
      const run = body.items[0];
      expect(run).toMatchObject({ state: 'finished' });
      return run as ReconcileRun;
    }, 30_000);
  }

  /** What differs at a destination, as it is known now. */
  async found(destination: string): Promise<Discrepancy[]> {
    const { status, body } = await this.operator.ask<{ items: Discrepancy[] }>(
      'viewer',
      `reconciliation/discrepancies?destination=${destination}&limit=200`,
    );
    expect(status).toBe(200);
    return body.items;
  }
}
