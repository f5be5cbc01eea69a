// Destinations and channels, as the API tells of them.

/** Milliseconds. */
export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
  count: number;
}

export interface DestinationState {
  service: string;
  destination: string;
  /** False: the site file does not name it any more. */
  configured: boolean;
  mode: 'flowing' | 'ramping' | 'probing' | 'blocked' | 'unknown';
  reason?: 'failing' | 'throttled' | 'auth' | 'hold';
  /** A person holds it until a person releases it. */
  hold?: { by: string; reason: string; since: string };
  /** No probe before then. */
  open_until?: string;
  /** Rests in a row. */
  cool_downs: number;
  breaker: string;
  quota?: { requests: number; per_ms: number; limit: number; left: number };
  /** Calls under way at most, per process. */
  concurrency?: number;
  timeouts?: { connect_ms: number; total_ms: number; lookup_ms: number };
  latency: { connect?: Percentiles; first_byte?: Percentiles; total?: Percentiles; by_hour: (Percentiles & { at: string })[] };
  backlog: { waiting: number; held: number; uncertain: number; oldest_at?: string };
  /** While a backlog goes down. */
  drain?: { left: number; total: number; rate_per_s: number; eta_s: number | null };
  test: { possible: boolean; why_not?: string };
}

export interface DestinationList {
  items: DestinationState[];
  /** Services that do not answer now. */
  unavailable: string[];
}
