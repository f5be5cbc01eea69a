import { type Connections, cacheDir } from '#testkit';
import { type Ports, type Service, services } from './ports.js';

export interface Surroundings {
  ports: Ports;
  connections: Connections;
  siteFile: string;
  secretsDir: string;
  sourceKeyHash: string;
  /** File of the audit's signed head. */
  auditHead: string;
}

const local = (port: number): string => `http://127.0.0.1:${port}`;

/** Base URLs that the sandbox serves. */
export const sandboxUrls = (ports: Ports) => ({
  crm: `${local(ports.sandbox)}/crm`,
  marketing: `${local(ports.sandbox)}/marketing`,
  chat: `${local(ports.sandbox)}/chat`,
});

export const intakeUrl = (ports: Ports): string => local(ports.intake);
export const operatorUrl = (ports: Ports): string => local(ports.operator);
export const internalUrl = (ports: Ports, service: Service): string => local(ports.internal[service]);

/**
 * How soon the work of a service that died is taken over, in ms: its partitions after the session, its claims after the lease. Shorter than
 * the services' own defaults, which allow for slow networks. A lease must outlast the longest call (`timeout_ms` in the site file).
 */
const takeOver = { KAFKA_SESSION_TIMEOUT_MS: '6000', LEASE_MS: '15000' };

/** Environment of the jobs, and the common part of every service's. What the caller exported goes first, so that knobs reach the services. */
export function commonEnvironment({
  ports,
  connections,
  siteFile,
  secretsDir,
  sourceKeyHash,
  auditHead,
}: Surroundings): Record<string, string> {
  const sandbox = sandboxUrls(ports);
  return {
    ...takeOver,
    ...callersEnvironment(),
    // Compiled code of one start serves the next.
    NODE_COMPILE_CACHE: cacheDir('node'),
    // glibc keeps a heap per thread otherwise, tens of megabytes in each process.
    MALLOC_ARENA_MAX: '2',
    LD_SITE_FILE: siteFile,
    LD_SECRETS_DIR: secretsDir,
    DATABASE_URL: connections.databaseUrl,
    KAFKA_BROKERS: connections.kafkaBrokers,
    SCHEMA_REGISTRY_URL: connections.schemaRegistry,
    INTERNAL_HOST: '127.0.0.1',
    INTERNAL_URLS: JSON.stringify(Object.fromEntries(services.map((service) => [service, internalUrl(ports, service)]))),
    SANDBOX_CRM_URL: sandbox.crm,
    SANDBOX_MARKETING_URL: sandbox.marketing,
    SANDBOX_CHAT_URL: sandbox.chat,
    TOUR_DOOR_URL: local(ports.tourDoor),
    TOUR_TLS_URL: `https://127.0.0.1:${ports.tourTls}`,
    DEMO_SOURCE_KEY_HASH: sourceKeyHash,
    AUDIT_HEAD_FILE: auditHead,
  };
}

/** Environment of one service. */
export function serviceEnvironment(service: Service, surroundings: Surroundings): Record<string, string> {
  const { ports } = surroundings;
  const http = hasDoor(service) ? ports[service] : undefined;
  return {
    ...commonEnvironment(surroundings),
    INTERNAL_PORT: String(ports.internal[service]),
    ...(http === undefined ? {} : { HTTP_HOST: '127.0.0.1', HTTP_PORT: String(http) }),
  };
}

/** Services that the outside may call over HTTP. */
const hasDoor = (service: Service): service is 'intake' | 'sandbox' | 'operator' => ['intake', 'sandbox', 'operator'].includes(service);

/** The environment of this process without what npm, Jest or a debugger put there for themselves. */
export function callersEnvironment(): Record<string, string> {
  const own = /^(npm_|INIT_CWD$|NODE_OPTIONS$|NODE_CHANNEL|JEST_|DATABASE_ROLE$|HTTP_HOST$|HTTP_PORT$|INTERNAL_)/;
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined && !own.test(entry[0])),
  );
}
