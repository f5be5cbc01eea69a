import type { DestinationConfig, FieldTruth } from '#runtime';

/** What a destination's configuration says of a comparison. Times in milliseconds. */
export interface Rules {
  fields: Readonly<Record<string, FieldTruth>>;
  transitions?: Readonly<Record<string, readonly string[]>>;
  searchLagMs: number;
  maxExecutionMs: number;
  /** What stands for the name of a field that is not told. */
  hide?: (name: string) => string;
}

export function rulesOf({ reconcile, searchLagMs, maxExecutionMs }: DestinationConfig): Rules {
  return { fields: reconcile?.fields ?? {}, transitions: reconcile?.transitions, searchLagMs, maxExecutionMs };
}
