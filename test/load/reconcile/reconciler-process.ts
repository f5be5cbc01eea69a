import { parseSite } from '#runtime';
import { Runner } from '../../../apps/reconciler/src/runs/runner.js';
import { openTools } from '../../support/reconcile/open-tools.js';

/**
 * A process that works at comparisons as reconciler does, until it is told to stop, and says how much memory it took at most, and how much processor time. Its environment
 * names the world that a benchmark has opened.
 */
const { WORLD_URL = '', WORLD_DATABASE = '', WORLD_SITE = '' } = process.env;
const { tools } = await openTools({ url: WORLD_URL, databaseUrl: WORLD_DATABASE, site: parseSite(WORLD_SITE, process.env) });
new Runner({ tools, pollMs: 100 }).start();
setInterval(() => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  process.send?.({ maxRssMb: maxRSS / 1_024, cpuSeconds: (userCPUTime + systemCPUTime) / 1_000_000 });
}, 250);
