import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '#runtime';
import { acceptTools, openIntakeDatabase, site, source } from '../../../apps/intake/test/fixture.js';
import { startDoors } from '../../../apps/intake/test/start-doors.js';
import { coalescingServer, perRequestServer, sameRowsServer } from './bare-servers.js';
import { benchKey, type ServerKind } from './server-process.js';

/** A server process of the benchmark: `node serve.js <kind> <database URL>`; tells its port over IPC. */
const [, , kind, url] = process.argv as unknown as [string, string, ServerKind, string];
const port = kind.startsWith('bare') ? await serveBare() : await serveIntake();
process.send?.({ port });

async function serveBare(): Promise<number> {
  const server = await bareServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function bareServer(): Promise<Server> {
  if (kind === 'bare same rows') return sameRowsServer(await openIntakeDatabase(url));
  return kind === 'bare coalescing' ? coalescingServer(url) : perRequestServer(url);
}

/** The HTTP door as it is, its wide log lines included; without relay and Kafka, which have benchmarks of their own. */
async function serveIntake(): Promise<number> {
  const alone = kind === 'intake per request';
  const db = await openIntakeDatabase(url, alone ? 16 : 6);
  const keyHash = `sha256:${createHash('sha256').update(benchKey).digest('hex')}`;
  const config = site({ sources: [source({ keyHashes: [keyHash] })] });
  const tools = acceptTools(db, { site: config });
  const logger = createLogger('intake', 'info');
  const { url: address } = await startDoors({ db, tools, logger, coalescing: alone ? { maxBatch: 1, maxInFlight: 16 } : undefined });
  return Number(new URL(address).port);
}
