import { z } from 'zod';
import { ConfigError, type ConfigProblem } from '../config/config-error.js';
import { attempt, readEnv } from '../config/env.js';
import { baseEnv } from '../config/env-fragments.js';
import { readSite } from '../site/load-site.js';
import type { SiteOutline } from '../site/outline.js';
import type { Site } from '../site/site.js';

/** The configuration as far as it can be understood: one mistake must not hide another. */
export interface KnownConfiguration<S extends z.ZodRawShape> {
  /** Variables that are right. */
  env: Partial<z.infer<z.ZodObject<typeof baseEnv & S>>>;
  /** Absent where the process reads no site file, or it is no file at all. */
  site?: SiteOutline;
}

/** Readers of what else a process needs before it connects anywhere. Each throws ConfigError; what they give is not looked at. */
export type Checks<S extends z.ZodRawShape> = (known: KnownConfiguration<S>) => readonly (() => unknown)[];

/**
 * Reads variables and site file and runs the checks of the service over whatever of them can be understood. Throws one ConfigError with all
 * that is wrong. `env` holds the variables of `shape` too.
 */
export function readConfiguration<S extends z.ZodRawShape>(
  shape: S,
  checks: Checks<S> = () => [],
): { env: z.infer<z.ZodObject<typeof baseEnv>>; site?: Site } {
  const { env, known, problems } = readEnv(z.object({ ...baseEnv, ...shape }));
  const file = 'LD_SITE_FILE' in shape ? process.env.LD_SITE_FILE?.trim() : undefined;
  const { site, outline, problems: wrongSite } = file === undefined || file === '' ? { problems: [] } : readSite(file);
  const wrong = checks({ env: known as KnownConfiguration<S>['env'], site: outline }).flatMap((check) => attempt(check).problems);
  const all = once([...problems, ...wrongSite, ...wrong]);
  if (env === undefined || all.length > 0) throw new ConfigError(all);
  return { env: env as z.infer<z.ZodObject<typeof baseEnv>>, site };
}

/** A secret that two things name is missing once. */
function once(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return [...new Map(problems.map((one) => [`${one.path}\n${one.problem}`, one])).values()];
}
