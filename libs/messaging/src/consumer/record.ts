/** A record as it lay in the log. Bytes are never turned into text; of a repeated header the last value counts. */
export interface ConsumedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Record<string, Buffer>;
  readonly timestampMs: number;
}

/** A record handed to the application, and the duty to settle it exactly when its effect is durable. */
export interface Receipt {
  readonly record: ConsumedRecord;
  /** The committed offset may pass this record. Settling twice, or after the assignment ended, does nothing. */
  settle(): void;
  /** Gives the record back unsettled; it is handed out again, on a new receipt, no earlier than after the delay. */
  redeliverIn(delayMs: number): void;
  /** The assignment under which the record came is over: whoever owns the partition now gets the record again. */
  readonly stale: boolean;
}
