import { z } from 'zod';
import { type Finding, fine, looked, wrong } from './finding.js';

const timeoutMs = 5_000;
const report = z.object({
  ready: z.boolean(),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string().optional() })),
});

/** Whether each service makes progress, by what it says of itself. */
export async function checkServices(urls: Readonly<Record<string, string>>): Promise<Finding[]> {
  const names = Object.keys(urls);
  if (names.length === 0) return [wrong('services', 'none is named', 'Set INTERNAL_URLS, or name a run directory')];
  return (await Promise.all(Object.entries(urls).map(([name, url]) => checkService(name, url)))).flat();
}

function checkService(name: string, url: string): Promise<Finding[]> {
  const what = `service ${name}`;
  return looked(what, 'Start it, and read its log if it does not stay up', async () => {
    const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(timeoutMs) });
    const { ready, checks } = report.parse(await response.json());
    if (ready) return [fine(what, 'ready')];
    const red = checks.filter(({ ok }) => !ok);
    return red.map((check) => wrong(what, `${check.name}: ${check.detail ?? 'not ready'}`, 'Mend what it names; it recovers by itself'));
  });
}
