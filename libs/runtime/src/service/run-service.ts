import type { z } from 'zod';
import { ConfigError } from '../config/config-error.js';
import type { baseEnv } from '../config/env-fragments.js';
import { createLogger, type Logger } from '../logging/logger.js';
import { watchProcess } from '../metrics/process-metrics.js';
import type { Site } from '../site/site.js';
import { startTelemetry, type Telemetry } from '../telemetry/telemetry.js';
import { type Checks, readConfiguration } from './configuration.js';
import { exitOnUncaught } from './crash.js';
import { drain, type Stoppable } from './drain.js';
import { exitCodes, exitProcess } from './exit.js';

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
  /** What else must be right before anything connects; see checks.ts. Its problems are told together with those of variables and site file. */
  checks?: Checks<S>;
  /** Starts the parts and gives them in start order (pool first, consumer last); they are stopped in reverse. */
  start(context: ServiceContext<S>): Promise<Stoppable[]>;
  /** The whole stop may take this long before the process exits with 1; default 25,000. */
  drainMs?: number;
}

const aDayMs = 86_400_000;

/**
 * Runs one process: configuration (every problem at once on standard error, exit 2), telemetry, start, then SIGTERM or SIGINT: parts stop
 * in reverse order, exit 0. A second signal exits 1. An error nobody caught is logged without its data and exits 1; the supervisor starts
 * the process again. Never returns to the caller with an error.
 */
export async function runService<S extends z.ZodRawShape>(options: ServiceOptions<S>): Promise<void> {
  const { name, drainMs = 25_000 } = options;
  exitOnUncaught(createLogger(name));
  // While every part waits for something outside (a database that restarts), nothing else might hold the process open.
  setInterval(() => {}, aDayMs);
  try {
    const { env, site } = readConfiguration(options.env, options.checks);
    const logger = createLogger(name, env.LOG_LEVEL);
    exitOnUncaught(logger);
    watchProcess();
    const telemetry = startTelemetry({ service: name, endpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT, ratio: env.TRACE_RATIO });
    const stopping = stopOnSignals(logger);
    const parts = await options.start({
      env: env as ServiceContext<S>['env'],
      logger,
      telemetry,
      signal: stopping.signal,
      get site() {
        if (site === undefined) throw new Error('Add siteEnv to the env shape of this service to read the site file');
        return site;
      },
    });
    logger.info({ parts: parts.map((part) => part.name), pid: process.pid }, 'Started');
    await stopping.requested;
    const clean = await drain([{ name: 'telemetry', stop: () => telemetry.shutdown() }, ...parts], { logger, drainMs });
    exitProcess(clean ? exitCodes.stopped : exitCodes.failed, logger);
  } catch (error) {
    if (error instanceof ConfigError) {
      process.stderr.write(`${name}: ${error.message}\n`);
      exitProcess(exitCodes.misconfigured);
    }
    const logger = createLogger(name);
    logger.fatal({ err: error }, 'Start failed');
    exitProcess(exitCodes.failed, logger);
  }
}

/** The first signal asks for an orderly stop, the second ends the process at once. */
function stopOnSignals(logger: Logger): { signal: AbortSignal; requested: Promise<void> } {
  const controller = new AbortController();
  const requested = new Promise<void>((resolve) => {
    const onSignal = (signal: NodeJS.Signals) => {
      if (controller.signal.aborted) exitProcess(exitCodes.failed, logger);
      logger.info({ signal }, 'Stopping');
      controller.abort();
      resolve();
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
  return { signal: controller.signal, requested };
}
