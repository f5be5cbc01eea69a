import type { z } from 'zod';
import type { Logger } from '../logging/logger.js';
import type { ReadinessCheck } from './readiness.js';

export interface InternalServerOptions {
  host: string;
  port: number;
  /** Bearer token per caller name. */
  tokens: Record<string, string>;
  readiness: ReadinessCheck[];
  logger: Logger;
}

export interface InternalRoute<B extends z.ZodType> {
  /** Caller names that may use it. */
  callers: string[];
  /** Limit of the body's `items`; default 500. */
  maxItems?: number;
  body: B;
}

export interface InternalServer {
  /** The port that was bound (differs from the option when that was 0). */
  readonly port: number;
  /** Adds POST `path` (starts with /internal/v1/). The handler's result is the JSON answer. */
  route<B extends z.ZodType>(
    path: string,
    options: InternalRoute<B>,
    handler: (body: z.infer<B>, context: { caller: string }) => Promise<unknown>,
  ): void;
  addReadiness(check: ReadinessCheck): void;
  /** Stops listening and waits for requests in flight. */
  stop(): Promise<void>;
}

/** Listens with GET /metrics, /health/live, /health/ready (open) and the POST routes added later (bearer). */
export async function startInternalServer(options: InternalServerOptions): Promise<InternalServer> {
  void options;
  throw new Error('not implemented');
}
