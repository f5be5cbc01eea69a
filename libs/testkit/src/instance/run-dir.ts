import { join } from 'node:path';
import type { ProcessIdentity } from '../process/identity.js';

/** A child as the next start or `npm stop` finds it again when the launcher is gone. */
export interface RecordedChild {
  name: string;
  identity: ProcessIdentity;
  stopSignal: NodeJS.Signals;
  /** Time for an orderly end before SIGKILL, in ms. */
  stopGraceMs: number;
}

/** What `state.json` of a run directory says. */
export interface RunState {
  portBase: number;
  /** In the order of starting. */
  children: RecordedChild[];
  /** Project name of the compose infrastructure, when that is used. */
  composeProject?: string;
}

/** What `endpoints.json` of a run directory says about a running instance. URLs have no trailing slash. */
export interface Endpoints {
  intake: string;
  /** REST API and console of the operator service. */
  operator: string;
  /** A token of one demo person per role, each of another subject; absent where operator-tokens.json has nobody of that role alone. */
  operatorTokens: Partial<Record<'viewer' | 'operator' | 'approver' | 'admin', string>>;
  sandboxCrm: string;
  sandboxMarketing: string;
  sandboxChat: string;
  /** Where two of the destinations that the failure tour breaks are looked for; nothing listens there otherwise. */
  tourPorts: { door: number; tls: number };
  /** With its Confluent-compatible path. */
  schemaRegistry: string;
  /** "host:port,…" */
  kafkaBrokers: string;
  databaseUrl: string;
  /** Bearer key of the demo's source `website`. */
  sourceKey: string;
  /** Full URL of each app's metrics page. */
  metrics: Record<string, string>;
  /** Base URL of each app's internal API. */
  internal: Record<string, string>;
  /** The Node process of each app. */
  pids: Record<string, number>;
}

/** Where an instance keeps what. */
export const runPaths = (runDir: string) => ({
  lock: join(runDir, 'launcher.json'),
  state: join(runDir, 'state.json'),
  endpoints: join(runDir, 'endpoints.json'),
  logs: join(runDir, 'logs'),
  data: join(runDir, 'data'),
  secrets: join(runDir, 'secrets'),
  /** Last signed head of the audit chain, away from the database that it vouches for. */
  auditHead: join(runDir, 'audit-head.jws'),
  /** While a file `hold/NAME` exists the launcher does not start child NAME again. */
  hold: join(runDir, 'hold'),
  /** `once/NAME`: variables, as JSON, that the next start of child NAME gets on top of its own, and no start after it. */
  once: join(runDir, 'once'),
});
