import { type Connections, writeJsonFile } from '#testkit';
import { intakeUrl, internalUrl, sandboxUrls } from './environment.js';
import { type Ports, services } from './ports.js';

/** What `endpoints.json` says about a running instance. URLs have no trailing slash. */
export interface Endpoints {
  intake: string;
  sandboxCrm: string;
  sandboxMarketing: string;
  sandboxChat: string;
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

export interface EndpointsInput {
  ports: Ports;
  connections: Connections;
  sourceKey: string;
  pidOf(app: string): number | undefined;
}

export function endpointsOf({ ports, connections, sourceKey, pidOf }: EndpointsInput): Endpoints {
  const sandbox = sandboxUrls(ports);
  const internal = Object.fromEntries(services.map((service) => [service, internalUrl(ports, service)]));
  return {
    intake: intakeUrl(ports),
    sandboxCrm: sandbox.crm,
    sandboxMarketing: sandbox.marketing,
    sandboxChat: sandbox.chat,
    schemaRegistry: connections.schemaRegistry,
    kafkaBrokers: connections.kafkaBrokers,
    databaseUrl: connections.databaseUrl,
    sourceKey,
    metrics: Object.fromEntries(Object.entries(internal).map(([app, url]) => [app, `${url}/metrics`])),
    internal,
    pids: Object.fromEntries(services.flatMap((service) => (pidOf(service) === undefined ? [] : [[service, pidOf(service) as number]]))),
  };
}

/** Replaces `endpoints.json` in one step; it holds a key, so only its owner may read it. */
export function writeEndpoints(file: string, endpoints: Endpoints): void {
  writeJsonFile(file, endpoints);
}
