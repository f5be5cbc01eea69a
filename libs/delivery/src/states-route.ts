import { z } from 'zod';
import type { DeliveryState, OperationState } from '#contracts';
import type { Database } from '#runtime';

export const statesRequest = z.object({
  items: z
    .array(z.object({ event_id: z.uuid(), destination: z.string().optional() }))
    .min(1)
    .max(500),
});
export type StatesRequest = z.infer<typeof statesRequest>;

export interface OperationStateItem {
  kind: string;
  state: OperationState;
  ref?: string;
  operation_key: string;
  attempts: number;
}

export interface DeliveryStateItem {
  destination: string;
  state: DeliveryState;
  class?: string;
  code?: string;
  /** ISO 8601, the database's clock. */
  as_of: string;
  operations: OperationStateItem[];
}

export interface StatesAnswer {
  /** In the order of the request; an event without any delivery here has an empty list. */
  items: { event_id: string; deliveries: DeliveryStateItem[] }[];
}

/** Handler of POST /internal/v1/deliveries:state. */
export function statesRoute(_db: Database): (body: StatesRequest) => Promise<StatesAnswer> {
  throw new Error('not implemented');
}
