import { createHash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createLogger } from '#runtime';
import { createApp } from '../../../apps/intake/src/http/create-app.js';
import { HttpAcceptance } from '../../../apps/intake/src/http/http-acceptance.js';
import { SourceKeys } from '../../../apps/intake/src/http/source-keys.js';
import { LeadJourneys } from '../../../apps/intake/src/journey/lead-journeys.js';
import { LiveStates } from '../../../apps/intake/src/journey/live-states.js';
import { DatabasePatience } from '../../../apps/intake/src/kafka/database-patience.js';
import { ResolvedLeads } from '../../../apps/intake/src/kafka/resolved-leads.js';
import { SubmittedLeads } from '../../../apps/intake/src/kafka/submitted-leads.js';
import { acceptTools, openIntakeDatabase, site, source } from '../../../apps/intake/test/fixture.js';
import { coalescingServer, perRequestServer } from './bare-servers.js';
import { benchKey, type ServerKind } from './server-process.js';

/** A server process of the benchmark: `node serve.js <kind> <database URL>`; tells its port over IPC. */
const [, , kind, url] = process.argv as unknown as [string, string, ServerKind, string];
const port = kind === 'bare coalescing' || kind === 'bare per request' ? await serveBare() : await serveIntake();
process.send?.({ port });

async function serveBare(): Promise<number> {
  const server = kind === 'bare coalescing' ? coalescingServer(url) : perRequestServer(url);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** The HTTP door as it is, its wide log lines included; without relay and Kafka, which have benchmarks of their own. */
async function serveIntake(): Promise<number> {
  const alone = kind === 'intake per request';
  const db = await openIntakeDatabase(url, alone ? 16 : 6);
  const keyHash = `sha256:${createHash('sha256').update(benchKey).digest('hex')}`;
  const config = site({ sources: [source({ keyHashes: [keyHash] })] });
  const tools = acceptTools(db, { site: config });
  const logger = createLogger('intake', 'info');
  const patience = new DatabasePatience({ group: () => ({ pause() {}, resume() {} }), logger });
  const app = await createApp(
    {
      acceptance: new HttpAcceptance(tools, alone ? { maxBatch: 1, maxInFlight: 16 } : undefined),
      journeys: new LeadJourneys({ ...tools, db, live: new LiveStates({}, 800) }),
      submitted: new SubmittedLeads({ ...tools, logger, patience }),
      resolved: new ResolvedLeads({ db, logger, patience }),
    },
    { keys: new SourceKeys(config.sources), telemetry: tools.telemetry, logger, bodyLimitBytes: config.limits.bodyBytes },
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  return Number(new URL(await app.getUrl()).port);
}
