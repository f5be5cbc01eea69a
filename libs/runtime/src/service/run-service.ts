import type { z } from 'zod';
import type { baseEnv } from '../config/env-fragments.js';
import type { Logger } from '../logging/logger.js';
import type { Site } from '../site/site.js';
import type { Telemetry } from '../telemetry/telemetry.js';

/** A part of a process that is stopped on the way out. */
export interface Stoppable {
  name: string;
  stop(): Promise<void> | void;
}

export interface ServiceContext<S extends z.ZodRawShape> {
  env: z.infer<z.ZodObject<typeof baseEnv & S>>;
  /** The validated site file; only where the env shape has LD_SITE_FILE, else reading it throws. */
  readonly site: Site;
  logger: Logger;
  telemetry: Telemetry;
  /** Aborted when the process begins to stop. */
  signal: AbortSignal;
}

export interface ServiceOptions<S extends z.ZodRawShape> {
  name: string;
  /** Variables beyond baseEnv. */
  env: S;
  /** Starts the parts and gives them in start order (pool first, consumer last); they are stopped in reverse. */
  start(context: ServiceContext<S>): Promise<Stoppable[]>;
  /** The whole stop may take this long before the process exits with 1; default 25,000. */
  drainMs?: number;
}

/**
 * Runs one process: configuration (every problem at once, exit 2), telemetry, start, then SIGTERM or SIGINT: parts stop in reverse order, exit 0.
 * A second signal exits 1. An error nobody caught is logged without its data and exits 1; the supervisor starts the process again.
 */
export async function runService<S extends z.ZodRawShape>(options: ServiceOptions<S>): Promise<void> {
  void options;
  throw new Error('not implemented');
}
