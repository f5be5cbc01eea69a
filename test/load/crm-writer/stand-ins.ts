import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Of a lead whose reference begins with one of these after its `L-`: refused, locked at every call, or locked at its first call alone. */
export const marks = { refused: 'REFUSED', locked: 'LOCKED', lockedOnce: 'ONCE' } as const;

/**
 * What the benchmark asks of this process. `reset` forgets the counts. `marked`: look for marks, which costs a read of every body.
 * `retryAfterS`: whoever finds a lead locked is told to come back after that many seconds.
 */
export type Command =
  | { kind: 'set'; latencyMs: number; marked?: boolean; retryAfterS?: number }
  | { kind: 'vault'; open: boolean }
  | { kind: 'reset' }
  | { kind: 'report' };

export interface Ports {
  crm: number;
  vault: number;
}

export interface Report {
  requests: number;
  /** Requests with a key that came before. */
  repeats: number;
  maxInFlight: number;
  /** `Date.now()` of the first and the last answer. */
  firstAt: number;
  lastAt: number;
  /** Of the last one that was no refusal. */
  lastGoodAt: number;
}

/** A CRM that answers every post after a latency, and a vault that can be closed, in a process of their own. Driven over IPC. */
let latencyMs = 0;
let marked = false;
let retryAfterS: number | undefined;
let vaultOpen = false;
let inFlight = 0;
let report: Report;
const keys = new Set<string>();

function reset(): void {
  keys.clear();
  report = { requests: 0, repeats: 0, maxInFlight: 0, firstAt: 0, lastAt: 0, lastGoodAt: 0 };
}

const crm: RequestListener = (request, response) => {
  inFlight += 1;
  report.requests += 1;
  report.maxInFlight = Math.max(report.maxInFlight, inFlight);
  if (report.firstAt === 0) report.firstAt = Date.now();
  const key = String(request.headers['idempotency-key']);
  const repeated = keys.has(key);
  if (repeated) report.repeats += 1;
  keys.add(key);
  let body = '';
  if (marked) request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  else request.resume();
  const answer = () => {
    inFlight -= 1;
    report.lastAt = Date.now();
    const status = marked ? statusOf(body, repeated) : 201;
    if (status === 201) report.lastGoodAt = report.lastAt;
    const asked = status === 423 && retryAfterS !== undefined ? { 'retry-after': String(retryAfterS) } : {};
    response.writeHead(status, { 'content-type': 'application/json', ...asked });
    response.end(status === 201 ? `{"id":"rec-${report.requests}"}` : '{}');
  };
  if (latencyMs === 0) request.on('end', answer);
  else setTimeout(answer, latencyMs);
};

function statusOf(body: string, repeated: boolean): number {
  if (body.includes(`"lead_ref":"L-${marks.refused}`)) return 422;
  if (body.includes(`"lead_ref":"L-${marks.locked}`)) return 423;
  return !repeated && body.includes(`"lead_ref":"L-${marks.lockedOnce}`) ? 423 : 201;
}

const payload = {
  contact: { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123' },
  message: 'Please call me back about the offer on your page, any day after four.',
  form: 'contact',
  campaign: 'autumn',
  custom: { seats: '12', page: '/offers/autumn' },
  consent: { given: true, at: '2026-01-01T00:00:00.000Z' },
  submitted_at: '2026-01-01T00:00:00.000Z',
  source: 'website',
  source_event_id: 'web-1001',
  person_key: '0123456789abcdef0123456789abcdef',
};

const vault: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (!vaultOpen) {
      response.writeHead(503).end();
      return;
    }
    const { items } = JSON.parse(Buffer.concat(chunks).toString()) as { items: { lead_ref: string }[] };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ items: items.map(({ lead_ref }) => ({ lead_ref, status: 200, revision: 1, payload })) }));
  });
};

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

process.on('message', (command: Command) => {
  if (command.kind === 'set') {
    latencyMs = command.latencyMs;
    marked = command.marked ?? false;
    retryAfterS = command.retryAfterS;
  }
  if (command.kind === 'vault') vaultOpen = command.open;
  if (command.kind === 'reset') reset();
  if (command.kind === 'report') process.send?.(report);
});
reset();
process.send?.({ crm: await listen(crm), vault: await listen(vault) } satisfies Ports);
