import type { Connections, Endpoints } from '#testkit';
import { intakeUrl, internalUrl, operatorUrl, sandboxUrls } from './environment.js';
import { type Ports, services } from './ports.js';

export interface EndpointsInput {
  ports: Ports;
  connections: Connections;
  sourceKey: string;
  operatorTokens: Endpoints['operatorTokens'];
  pidOf(app: string): number | undefined;
}

/** What `endpoints.json` says of a running instance; an app that does not run has no pid. */
export function endpointsOf({ ports, connections, sourceKey, operatorTokens, pidOf }: EndpointsInput): Endpoints {
  const sandbox = sandboxUrls(ports);
  const internal = Object.fromEntries(services.map((service) => [service, internalUrl(ports, service)]));
  return {
    intake: intakeUrl(ports),
    operator: operatorUrl(ports),
    operatorTokens,
    sandboxCrm: sandbox.crm,
    sandboxMarketing: sandbox.marketing,
    sandboxChat: sandbox.chat,
    tourPorts: { door: ports.tourDoor, tls: ports.tourTls },
    schemaRegistry: connections.schemaRegistry,
    kafkaBrokers: connections.kafkaBrokers,
    databaseUrl: connections.databaseUrl,
    sourceKey,
    metrics: Object.fromEntries(Object.entries(internal).map(([app, url]) => [app, `${url}/metrics`])),
    internal,
    pids: Object.fromEntries(services.flatMap((service) => (pidOf(service) === undefined ? [] : [[service, pidOf(service) as number]]))),
  };
}
