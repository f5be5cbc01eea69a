import { fork, spawnSync } from 'node:child_process';
import { join } from 'node:path';

export type ServerKind = 'intake' | 'intake per request' | 'bare coalescing' | 'bare same rows' | 'bare per request';
export const benchKey = 'a-key-for-benchmarks';

export interface HttpRate {
  perSecond: number;
  p99Ms: number;
}

const body = JSON.stringify({
  source_event_id: 'web-[<id>]',
  form: 'contact',
  campaign: 'autumn',
  contact: { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123' },
  message: 'Please call me back about the offer in your autumn catalogue, any weekday after five.',
  consent: { given: true, at: '2026-01-31T09:30:00Z' },
  custom: { page: '/offers/autumn', campaign_id: 4711 },
});

/** Starts one server in a process of its own, loads it from another, and ends both. Throws when any answer was not 202. */
export async function httpRate(kind: ServerKind, url: string, seconds: number): Promise<HttpRate> {
  const server = fork(join(import.meta.dirname, 'serve.js'), [kind, url], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = new Promise((resolve) => server.once('exit', resolve));
  const port = await new Promise<number>((resolve, reject) => {
    server.once('message', (message) => resolve((message as { port: number }).port));
    server.once('exit', (code) => reject(new Error(`the ${kind} server ended with ${code}`)));
  });
  try {
    load(port, 1);
    return load(port, seconds);
  } finally {
    server.kill('SIGKILL');
    await exited;
  }
}

function load(port: number, seconds: number): HttpRate {
  const autocannon = join(process.cwd(), 'node_modules', 'autocannon', 'autocannon.js');
  const headers = [`authorization=Bearer ${benchKey}`, 'content-type=application/json'].flatMap((header) => ['-H', header]);
  const options = ['-c', '64', '-d', String(seconds), '-m', 'POST', ...headers, '-I', '-b', body, '--json', '--no-progress'];
  const { stdout, stderr } = spawnSync(process.execPath, [autocannon, ...options, `http://127.0.0.1:${port}/v1/leads`], {
    encoding: 'utf8',
    maxBuffer: 1e8,
  });
  if (stdout === '') throw new Error(`autocannon said nothing: ${stderr}`);
  const result = JSON.parse(stdout) as {
    requests: { total: number };
    latency: { p99: number };
    duration: number;
    non2xx: number;
    errors: number;
  };
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refused, ${result.errors} failed`);
  return { perSecond: result.requests.total / result.duration, p99Ms: result.latency.p99 };
}
