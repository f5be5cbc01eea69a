import type { ComparedRecord, Repair, RepairKind } from '#delivery';

/** What becomes of one operation. */
export interface RepairStep {
  discrepancy_id: string;
  operation_key: string;
  kind: string;
  /** `create`: it is not there, and is made anew; `update`: it is changed by its reference. */
  repair: Exclude<RepairKind, 'tell'>;
  /** The destination's reference, as we know it. */
  ref?: string;
  /** The record as it was compared; of another one it is not known what it says. */
  compared?: ComparedRecord;
}

/** What an item is to do at its destination, as it was drafted. */
export interface RepairPlan {
  /** Of the delivery when it was drafted; in another one it is not what was looked at. */
  generation: number;
  /** One per operation; the others stay as they are. */
  steps: RepairStep[];
}

/** What the permit says of these steps. */
export function repairOf({ generation, steps }: RepairPlan): Repair {
  const named = (repair: RepairStep['repair']) =>
    steps
      .filter((step) => step.repair === repair)
      .map(({ operation_key: operationKey, ref, compared }) => ({
        operationKey,
        ...(ref !== undefined && { ref }),
        ...(compared && { compared }),
      }));
  return { generation, renew: named('update'), adopt: [], forget: named('create') };
}

/** The plan as an approval is bound to it. */
export function wordsOf({ generation, steps }: RepairPlan): string[] {
  return [`g${generation}`, ...steps.map(wordOf).sort()];
}

function wordOf({ repair, operation_key, ref = '', compared: { version = '', changed_at = '' } = {} }: RepairStep): string {
  return [repair, operation_key, ref, version, changed_at].join(' ');
}
