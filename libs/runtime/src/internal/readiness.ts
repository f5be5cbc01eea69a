export interface ReadinessResult {
  ok: boolean;
  /** Why not, in words an operator understands; no personal data. */
  detail?: string;
}

/** One named reason why a process may be unable to make progress. */
export interface ReadinessCheck {
  name: string;
  check(): Promise<ReadinessResult> | ReadinessResult;
}
