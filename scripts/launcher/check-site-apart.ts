import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Surroundings } from './environment.js';

/** From the parent. */
export type SiteQuestion = Omit<Surroundings, 'connections'>;
/** To it; without problems all is right. */
export interface SiteAnswer {
  problems?: string;
}

/**
 * {@link checkSite} in a process of its own, which takes with it what it loads: tens of megabytes that the launcher, which stays as long as the
 * services, needs for nothing else. Rejects with all problems.
 */
export async function checkSiteApart(question: SiteQuestion): Promise<void> {
  const child = fork(fileURLToPath(new URL('./check-site-process.js', import.meta.url)));
  const ended = once(child, 'exit');
  child.send(question);
  const first = await Promise.race([once(child, 'message'), ended.then(() => [{ problems: 'the site file could not be checked' }])]);
  const [{ problems }] = first as [SiteAnswer];
  await ended;
  if (problems !== undefined) throw new Error(problems);
}
