import { z } from 'zod';
import type { LeadAccepted, LeadCourse } from '#contracts';
import { commandRequest, findRequest, historyRequest } from '#delivery';
import { createLogger, type Database, type InternalServer, internalClient, type Site, startInternalServer } from '#runtime';
import { auditRefusals } from '../src/audit/audit-refusals.js';
import { createApp } from '../src/http/create-app.js';
import { leadsArea } from '../src/leads/leads.controller.js';
import { ownerApi } from '../src/owners/owner-api.js';
import { permissionsByRole, type Role } from '../src/people/permissions.js';
import { PretendIntake } from './pretend-intake.js';
import { PretendReconciler } from './pretend-reconciler.js';
import { leadAccepted, openOperatorDatabase, PretendOwner } from './rig.js';

const site = {
  destinations: { crm: { primary: true, requiresConsent: false }, marketing: { primary: false, requiresConsent: true } },
  owners: { ada: { id: 'ada', name: 'Sales duty' } },
} as unknown as Site;

export interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

/** Operator's REST door over a real database, with intake and the owners behind real internal HTTP. */
export interface LeadsRig {
  db: Database;
  intake: PretendIntake;
  writer: PretendOwner;
  notifier: PretendOwner;
  reconciler: PretendReconciler;
  logged: string[];
  /** Forgets every lead, letter, replay and reveal; all services are up again. */
  clear(): Promise<void>;
  /** A lead that intake knows. */
  known(changes?: Partial<LeadAccepted>): LeadAccepted;
  /** What the audit has of an action about a lead, oldest first. */
  audited(action: string, eventId: string): Promise<{ person: string; organization: string | null; subject: Record<string, unknown> }[]>;
  /** A request of a person: `role`, or `role@organization` for one who sees only that organization's leads. */
  ask(who: string, path: string, body?: unknown): Promise<Answer>;
  close(): Promise<void>;
}

/** `databaseUrl`: of an empty database. */
export async function openLeadsRig(databaseUrl: string): Promise<LeadsRig> {
  const db = await openOperatorDatabase(databaseUrl);
  const [intake, writer, notifier] = [new PretendIntake(), new PretendOwner(), new PretendOwner()];
  const logged: string[] = [];
  const logger = createLogger('operator', 'debug', { write: (line) => logged.push(line) });
  const token = 'operator-token-16chars';
  const serve = () => startInternalServer({ host: '127.0.0.1', port: 0, tokens: { operator: token }, readiness: [], logger });
  const servers = [await serve(), await serve(), await serve(), await serve()] as const;
  const reconciler = new PretendReconciler();
  reconciler.serve(servers[3]);
  intake.serve(servers[0]);
  serveOwner(servers[1], writer);
  serveOwner(servers[2], notifier);
  const clientOf = ({ port }: InternalServer) => internalClient({ baseUrl: `http://127.0.0.1:${port}`, token, timeoutMs: 5_000 });
  const clients = new Map(
    ['intake', 'crm-writer', 'notifier', 'reconciler'].map((name, index) => [name, clientOf(servers[index] as InternalServer)]),
  );
  const owners = new Map(['crm-writer', 'notifier'].map((name) => [name, ownerApi(clients.get(name) as never)]));
  const area = await leadsArea({ db, site, owners, clients, logger } as never);
  const app = await createApp({ inbox: {} as never, areas: [area] }, { identify, onRefused: auditRefusals(db), logger } as never);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = await app.getUrl();
  return {
    db,
    intake,
    writer,
    notifier,
    reconciler,
    logged,
    clear: () => {
      reconciler.clear();
      return clear(db, { intake, owners: [writer, notifier] });
    },
    known: (changes) => {
      const lead = leadAccepted(changes);
      intake.courses.set(lead.event_id, courseOf(lead));
      return lead;
    },
    audited: (action, eventId) =>
      db.sql(
        'rig.audit',
        `SELECT person, organization, subject FROM audit WHERE action = $1 AND subject ->> 'event_id' = $2 ORDER BY audit_id`,
        [action, eventId],
      ),
    ask: async (who, path, body) => {
      const answer = await fetch(`${url}/v1/${path}`, {
        headers: { authorization: `Bearer ${who}`, 'content-type': 'application/json' },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      });
      return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
    },
    close: async () => {
      await app.close();
      await Promise.all([...clients.values()].map((client) => client.close()));
      await Promise.all(servers.map((server) => server.stop()));
      await db.close();
    },
  };
}

async function clear(db: Database, { intake, owners }: { intake: PretendIntake; owners: readonly PretendOwner[] }): Promise<void> {
  intake.down = false;
  intake.courses.clear();
  intake.byValue.clear();
  intake.asked.length = 0;
  for (const owner of owners) {
    owner.down = false;
    owner.known.clear();
    owner.commands.length = 0;
  }
  for (const table of ['dead_letter', 'replay_item', 'replay_batch', 'reveal_grant']) {
    await db.sql(`rig.clear.${table}`, `DELETE FROM ${table}`, []);
  }
}

async function identify(authorization: string | undefined) {
  const [role = '', organization] = (authorization ?? '').replace('Bearer ', '').split('@');
  const subject = `${role}-person`;
  const permissions = permissionsByRole[role.split('-')[0] as Role];
  return {
    subject,
    name: role,
    roles: [role as Role],
    permissions,
    organizations: organization === undefined ? ('*' as const) : [organization],
  };
}

function serveOwner(server: InternalServer, owner: PretendOwner): void {
  const callers = ['operator'];
  server.route('/internal/v1/deliveries:history', { callers, body: historyRequest }, async ({ items }) => ({
    items: await owner.histories(items),
  }));
  server.route('/internal/v1/deliveries:find', { callers, body: findRequest }, (body) => owner.find(body));
  server.route('/internal/v1/destinations:state', { callers, body: z.object({}) }, () => owner.destinations());
  server.route('/internal/v1/deliveries:command', { callers, body: commandRequest }, (body) => owner.command(body));
}

/** What intake knows of the lead. */
export function courseOf(lead: LeadAccepted, changes: Partial<LeadCourse> = {}): LeadCourse {
  return {
    event_id: lead.event_id,
    lead_ref: lead.lead_ref,
    organization: lead.organization,
    source: lead.source,
    form: 'contact',
    campaign: 'autumn',
    policy: 'default',
    owner: 'ada',
    test: false,
    submitted_at: lead.submitted_at.toISOString(),
    accepted_at: lead.accepted_at.toISOString(),
    deadline_at: lead.deadline_at.toISOString(),
    trace_id: '0af7651916cd43dd8448eb211c80319c',
    vault: { state: 'kept', revision: 1, consent_withdrawn_at: null, delete_after: null },
    erased: false,
    announcement: 'announced',
    supersedes: null,
    superseded_by: [],
    deliveries: [],
    notifications: [],
    refusals: [],
    ...changes,
  };
}
