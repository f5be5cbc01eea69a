import { type Database, type InternalServer, internalClient, type Site, startInternalServer } from '#runtime';
import { auditRefusals } from '../src/audit/audit-refusals.js';
import { createApp } from '../src/http/create-app.js';
import { permissionsByRole, type Role } from '../src/people/permissions.js';
import type { Person } from '../src/people/person.js';
import { type ReconcilerApi, reconcilerApi } from '../src/reconciliation/reconciler-api.js';
import { reconciliationArea } from '../src/reconciliation/reconciliation-area.js';
import { PretendReconciler } from './pretend-reconciler.js';
import { openOperatorDatabase, silent } from './rig.js';

const site = {
  sources: [
    { id: 'website', organization: 'demo' },
    { id: 'website', organization: 'other' },
  ],
  routing: [
    { match: { organization: 'demo' }, destinations: ['crm', 'shared'], policy: 'default' },
    { match: { organization: 'other' }, destinations: ['others-crm', 'shared'], policy: 'default' },
  ],
  destinations: { crm: {}, shared: {}, 'others-crm': {} },
} as unknown as Site;

export interface RestAnswer {
  status: number;
  text: string;
  body: Record<string, unknown>;
}

/** Operator's REST door of reconciliation over a real database, with the reconciler behind real internal HTTP. */
export interface ReconciliationRig {
  db: Database;
  reconciler: PretendReconciler;
  /** The same, as operator asks it. */
  api: ReconcilerApi;
  /** A request of a person: `role`, or `role@organization` for one who sees only that organization's leads. A body makes it a POST. */
  ask(who: string, path: string, body?: unknown): Promise<RestAnswer>;
  audited(): Promise<{ person: string; action: string; organization: string | null; subject: Record<string, unknown> }[]>;
  close(): Promise<void>;
}

const token = 'operator-token-16chars';

/** `databaseUrl`: of an empty database. */
export async function openReconciliationRig(databaseUrl: string): Promise<ReconciliationRig> {
  const db = await openOperatorDatabase(databaseUrl);
  const reconciler = new PretendReconciler();
  const server: InternalServer = await startInternalServer({
    host: '127.0.0.1',
    port: 0,
    tokens: { operator: token },
    readiness: [],
    logger: silent,
  });
  reconciler.serve(server);
  const client = internalClient({ baseUrl: `http://127.0.0.1:${server.port}`, token, timeoutMs: 5_000 });
  const clients = new Map([['reconciler', client]]);
  const area = await reconciliationArea({ db, site, owners: new Map(), clients, logger: silent } as never);
  const app = await createApp({ inbox: {} as never, areas: [area] }, { identify, onRefused: auditRefusals(db), logger: silent } as never);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = await app.getUrl();
  return {
    db,
    reconciler,
    api: reconcilerApi(client),
    ask: async (who, path, body) => {
      const answer = await fetch(`${url}/v1/reconciliation/${path}`, {
        headers: { authorization: `Bearer ${who}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      const isJson = /json/.test(answer.headers.get('content-type') ?? '');
      return { status: answer.status, text, body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {} };
    },
    audited: () => db.sql('rig.audited', 'SELECT person, action, organization, subject FROM audit ORDER BY audit_id', []),
    close: async () => {
      await app.close();
      await client.close();
      await server.stop();
      await db.close();
    },
  };
}

const identify = async (authorization: string | undefined): Promise<Person | undefined> => {
  const [, role = '', organization] = /^Bearer (\w+)(?:@(\w+))?$/.exec(authorization ?? '') ?? [];
  const permissions = permissionsByRole[role as Role];
  if (permissions === undefined) return undefined;
  return {
    subject: role,
    name: role,
    roles: [role as Role],
    permissions,
    organizations: organization === undefined ? '*' : [organization],
  };
};
