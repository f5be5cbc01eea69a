import type { DeliveryState, FailureClass, OperationState } from '#contracts';

/** One operation as its row says. Times are epoch milliseconds of the database's clock. */
export interface StoredOperation {
  kind: string;
  operationKey: string;
  state: OperationState;
  ref?: string;
  /** Calls so far, those before the last approved item included. */
  attempts: number;
  /** Calls before the last approved item. */
  attemptsBefore: number;
  /** Lookups in a row that found nothing and count. */
  absences: number;
  lookedUpAtMs?: number;
  /** When the last call began that may have been executed and whose end nobody knows; absent: there is none. */
  sendingAtMs?: number;
  /** The claim that holds it now wrote that, before it made a call. Default: false. */
  marked?: boolean;
  class?: FailureClass;
  code?: string;
}

/** One delivery as its row says: what services that hold no record of it know. */
export interface StoredDelivery {
  eventId: string;
  destination: string;
  state: DeliveryState;
  class?: FailureClass;
  code?: string;
  generation: number;
  /** Default: 1. */
  claims?: number;
  leadRef: string;
  submittedAt: Date;
  deadlineAt: Date;
  /** When it was claimed here first. */
  firstSeenAt: Date;
  /** When its state last changed. */
  changedAt: Date;
  raisedAt?: Date;
  test: boolean;
  /** Key bytes of the record that brought it. */
  recordKey: Buffer | null;
  /** The event's own bytes. */
  event: Buffer;
  traceparent?: string;
  tracestate?: string;
  attemptId?: string;
  /** In declared order; one whose row is gone is left out. */
  operations: StoredOperation[];
  /** Some are left out, or none was declared: what became of them is not known. Default: false. */
  incomplete?: boolean;
  /** The database's clock when it was read. */
  resolvedAt: Date;
}
