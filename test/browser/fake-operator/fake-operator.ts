// A small operator that remembers what it was asked to do, for specs of the console alone: it answers in the shapes of the API, with people who do
// not exist. The journeys against the real services are in the flow specs beside it.
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { BlockedDestination } from '../../../apps/console/src/api/types.js';
import { serveConsole } from '../../../apps/operator/src/http/console.js';
import { reconciliationDoors } from './reconciliation.js';
import { type FakeState, fakeState, groupKey, leadId, people } from './state.js';

export interface FakeOperator {
  url: string;
  state: FakeState;
  /** Every request, as method and URL; bodies are never in it. */
  asked: string[];
  /** Tells whoever listens that something changed. */
  changed: (...what: string[]) => void;
  /** Refuses live streams from now on. */
  cutLive: () => void;
  stop: () => Promise<void>;
}

const problem = (reply: FastifyReply, status: number, title: string, detail?: string) =>
  reply
    .code(status)
    .type('application/problem+json')
    .send(JSON.stringify({ type: `urn:lead-delivery:problem:${status}`, title, status, detail }));

type Body = Record<string, unknown>;
type Asked = FastifyRequest<{ Params: Record<string, string>; Querystring: Record<string, string>; Body: Body }>;

const personOf = (request: Pick<FastifyRequest, 'headers'>) => people[String(request.headers.authorization).replace('Bearer ', '')];

/** Starts it on a free port. */
export async function startFakeOperator(): Promise<FakeOperator> {
  const app = fastify({ forceCloseConnections: true });
  const state = fakeState();
  const asked: string[] = [];
  const streams = new Set<FastifyReply>();
  const live = { open: true };
  app.addHook('onRequest', async (request, reply) => {
    asked.push(`${request.method} ${request.url}`);
    if (request.url.startsWith('/v1/') && personOf(request) === undefined) return problem(reply, 401, 'The token is missing or unknown');
  });
  await serveConsole(app);
  app.get('/console-config.json', () => ({}));
  app.get('/v1/live', (_request, reply) => {
    if (!live.open) return problem(reply, 503, 'A part that is needed does not answer; try again');
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
    reply.raw.write(': here\n\n');
    streams.add(reply);
  });
  const changed = (...what: string[]) => {
    for (const { raw } of streams) raw.write(`event: changed\ndata: ${JSON.stringify({ what })}\n\n`);
  };
  reads(app, state);
  decisions(app, state, changed);
  batches(app, state, changed);
  reconciliationDoors(app, {
    state: state.reconciliation,
    who: (request) => String(personOf(request)?.subject),
    note: (who, action, subject) => state.record(who, action, subject),
    draft: (who, selection) => state.draft(who, { filter: selection }).batch_id,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const cutLive = () => {
    live.open = false;
    for (const { raw } of streams) raw.end();
    streams.clear();
  };
  return { url, state, asked, changed, cutLive, stop: () => app.close() };
}

function reads(app: FastifyInstance, state: FakeState): void {
  app.get('/v1/me', (request) => personOf(request));
  app.get('/v1/overview', () => state.overview());
  app.post('/v1/search', (request: Asked) => ({
    items: request.body.text === 'nobody@example.test' ? [] : state.hits(String(request.body.text)),
  }));
  app.get('/v1/leads/:id', (request: Asked, reply) =>
    request.params.id === leadId ? state.timeline() : problem(reply, 404, 'There is nothing here under this id'),
  );
  app.get('/v1/dead-letters', (request: Asked) => {
    const { tab = 'dead', destination, class: failure, group, after, limit = '50' } = request.query;
    const all = state.letters.filter(
      (one) =>
        (tab === 'all' || one.tab === tab) &&
        (!destination || one.destination === destination) &&
        (!failure || one.class === failure) &&
        (!group || groupKey(one) === group),
    );
    const from = after === undefined ? 0 : all.findIndex(({ dead_letter_id: id }) => id === after) + 1;
    const items = all.slice(from, from + Number(limit));
    return { items, ...(from + Number(limit) < all.length && { next: items.at(-1)?.dead_letter_id }), ...blockedOf(state, tab) };
  });
  app.get('/v1/dead-letters/groups', (request: Asked) => {
    state.groupsAsOf = new Date().toISOString();
    const { tab = 'dead' } = request.query;
    return { as_of: state.groupsAsOf, items: state.groups(tab), left_out: 0, ...blockedOf(state, tab) };
  });
  app.get('/v1/dead-letters/:id/notes', () => ({ items: state.notes }));
  app.get('/v1/destinations', () => ({ items: state.destinations, unavailable: [] }));
  app.get('/v1/corrections', ({ query: { state: wanted, event_id: id } }: Asked) => ({
    items: state.corrections.filter((one) => (!wanted || one.state === wanted) && (!id || one.event_id === id)),
  }));
  app.get(
    '/v1/corrections/:id',
    ({ params }: Asked, reply) =>
      state.corrections.find(({ correction_id: id }) => id === params.id) ?? problem(reply, 404, 'There is nothing here under this id'),
  );
  app.get('/v1/audit', () => ({ items: [...state.audit].reverse() }));
  app.get('/v1/audit/verify', () => ({ ok: true, checked: state.audit.length, unsealed: 0, head: null, exported: null, findings: [] }));
  app.get('/v1/erasures', () => ({ items: [state.erasure] }));
  app.get('/v1/erasures/:id', () => state.erasure);
}

/** What the tab of held leads says beside its items. */
function blockedOf(state: FakeState, tab: string): { blocked?: BlockedDestination[] } {
  if (tab !== 'held') return {};
  return {
    blocked: state.destinations.flatMap(({ service, destination, mode, reason = 'held', hold, backlog: { unclaimed } }) =>
      mode === 'blocked'
        ? [{ service, destination, mode, reason, ...(hold && { hold: { ...hold, at: hold.since } }), ...(unclaimed && { unclaimed }) }]
        : [],
    ),
  };
}

function decisions(app: FastifyInstance, state: FakeState, changed: FakeOperator['changed']): void {
  const note = (request: Asked, action: string, subject: Body) => state.record(String(personOf(request)?.subject), action, subject);
  app.post('/v1/leads/:id/reveal', (request: Asked, reply) => {
    if (!personOf(request)?.permissions.includes('reveal')) return problem(reply, 403, 'Not permitted', 'This needs the permission reveal');
    note(request, 'lead.reveal', { event_id: request.params.id, reason: request.body.reason });
    return { until: new Date(Date.now() + state.revealForMs).toISOString(), fields: state.person };
  });
  app.post('/v1/leads/:id/consent', (request: Asked) => {
    note(request, 'consent.withdraw', { event_id: request.params.id, ...request.body });
    return { event_id: request.params.id, result: 'withdrawn' };
  });
  for (const what of ['lookup', 'evidence', 'discard']) {
    app.post(`/v1/leads/:id/deliveries/${what}`, (request: Asked) => {
      note(request, `delivery.${what}`, { event_id: request.params.id });
      return {};
    });
  }
  for (const what of ['assign', 'note', 'disposition']) {
    app.post(`/v1/dead-letters/${what}`, (request: Asked) => {
      note(request, `letter.${what}`, request.body);
      return { letters: Array.isArray(request.body.ids) ? request.body.ids.length : 1 };
    });
  }
  app.post('/v1/dead-letters/dismiss', (request: Asked) => {
    note(request, 'dead_letter.dismiss', request.body);
    return state.dismiss(request.body);
  });
  for (const mode of ['hold', 'release']) {
    app.post(`/v1/destinations/:name/${mode}`, (request: Asked, reply) => {
      const one = state.destinations.find(({ destination }) => destination === request.params.name);
      if (request.body.since !== undefined && request.body.since !== (one?.hold?.since ?? null))
        return problem(reply, 409, 'Somebody has held or released it since you looked: look again');
      if (one)
        Object.assign(
          one,
          mode === 'hold'
            ? { mode: 'blocked', hold: { by: 'olga', reason: request.body.reason, since: new Date().toISOString() } }
            : { mode: 'flowing', hold: undefined },
        );
      note(request, `destination.${mode}`, { destination: request.params.name, reason: request.body.reason });
      changed('destinations');
      return {};
    });
  }
  app.post('/v1/corrections/:id/approve', (request: Asked) => {
    const one = state.corrections.find(({ correction_id: id }) => id === request.params.id);
    Object.assign(one ?? {}, { state: 'approved', approver: personOf(request)?.subject });
    note(request, 'correction.approve', { correction_id: request.params.id, ...request.body });
    changed('corrections');
    return {};
  });
  app.post('/v1/destinations/:name/test', () => ({ event_id: leadId }));
  app.post('/v1/erasures', () => state.erasure);
  app.post('/v1/erasures/:id/approve', () => {
    state.erasure.state = 'running';
    return {};
  });
}

function batches(app: FastifyInstance, state: FakeState, changed: FakeOperator['changed']): void {
  app.get('/v1/batches', () => ({ items: state.batches }));
  app.post('/v1/batches', (request: Asked) => {
    const batch = state.draft(String(personOf(request)?.subject), request.body);
    return { batch_id: batch.batch_id, state: 'draft', hash: batch.hash, items: batch.counts.items };
  });
  app.get(
    '/v1/batches/:id',
    (request: Asked, reply) => state.batch(String(request.params.id)) ?? problem(reply, 404, 'There is nothing here under this id'),
  );
  app.get('/v1/batches/:id/items', (request: Asked) => ({ items: state.batchItems(String(request.params.id), request.query.outcome) }));
  app.get('/v1/batches/:id/items.csv', (_request, reply) => reply.type('text/csv').send("event_id,outcome\n'=1+1,succeeded\n"));
  app.post('/v1/batches/:id/edit', (request: Asked, reply) => {
    const batch = state.batch(String(request.params.id));
    if (batch === undefined || !['draft', 'checked', 'approved'].includes(batch.state))
      return problem(reply, 409, 'The batch has begun', 'What has been sent cannot be changed any more');
    state.edit(batch, String(personOf(request)?.subject), request.body);
    changed('batches');
    return { batch_id: batch.batch_id, state: batch.state, hash: batch.hash, items: batch.counts.items };
  });
  for (const what of ['dry-run', 'approve', 'pause', 'resume', 'stop']) {
    app.post(`/v1/batches/:id/${what}`, (request: Asked) => {
      state.command(String(request.params.id), what, String(personOf(request)?.subject));
      changed('batches');
      return {};
    });
  }
}
