import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type EventDescriptor, LeadResolvedEvent, LeadSubmittedEvent, topics } from '#contracts';
import type { ReplayGate } from '#delivery';
import { type KafkaPort, MessagingStrategy } from '#messaging';
import type { Database, InternalClient, Logger } from '#runtime';
import type { AcceptTools } from '../src/accept-leads.js';
import { Consents } from '../src/consent/consents.js';
import { createApp } from '../src/http/create-app.js';
import { HttpAcceptance } from '../src/http/http-acceptance.js';
import { SourceKeys } from '../src/http/source-keys.js';
import { LeadJourneys } from '../src/journey/lead-journeys.js';
import { LiveStates } from '../src/journey/live-states.js';
import { DatabasePatience } from '../src/kafka/database-patience.js';
import { ResolvedLeads } from '../src/kafka/resolved-leads.js';
import { SubmittedLeads } from '../src/kafka/submitted-leads.js';
import { askOwnersWithinMs } from '../src/open-doors.js';
import { RefusalsTally } from '../src/received/refusals-tally.js';
import { ReplayedItems } from '../src/replay/replayed-items.js';
import { codec } from './fixture.js';

export interface DoorOptions {
  db: Database;
  tools: AcceptTools;
  logger: Logger;
  owners?: Record<string, InternalClient>;
  /** Default: as in production. */
  askOwnersWithinMs?: number;
  bodyLimitBytes?: number;
  /** Default: as in production. */
  coalescing?: { maxBatch: number; maxInFlight: number };
  /** The Kafka door too, on topics and groups of its own. */
  kafka?: { port: KafkaPort; leads: Place; resolved: Place; replay?: { topic: string; gate: ReplayGate } };
}

interface Place {
  topic: string;
  group: string;
}

export interface Doors {
  app: NestFastifyApplication;
  /** Base URL of the HTTP door. */
  url: string;
  strategy?: MessagingStrategy;
  /** Writes down what was refused without a transaction, as happens every second. */
  countRefusals(): Promise<void>;
}

/** Intake's doors as the process opens them, on any free port, without relay and internal API. */
export async function startDoors(options: DoorOptions): Promise<Doors> {
  const { db, tools, logger, kafka, owners = {}, askOwnersWithinMs: withinMs = askOwnersWithinMs } = options;
  const strategy = kafka && strategyOf(kafka, logger);
  const patience = (group: string | undefined) =>
    new DatabasePatience({
      group: () => (strategy && group ? strategy.consumer(group) : { pause() {}, resume() {} }),
      logger,
      retryMs: 100,
    });
  const refused = new RefusalsTally({ db, logger });
  const app = await createApp(
    {
      acceptance: new HttpAcceptance(tools, options.coalescing),
      journeys: new LeadJourneys({ ...tools, db, codec, live: new LiveStates(owners, withinMs) }),
      consents: new Consents(db),
      submitted: new SubmittedLeads({ ...tools, logger, patience: patience(kafka?.leads.group) }),
      resolved: new ResolvedLeads({ db, logger, patience: patience(kafka?.resolved.group) }),
      replayed: new ReplayedItems({ ...tools, db, codec, logger, topic: kafka?.replay?.topic ?? '', gate: kafka?.replay?.gate }),
    },
    {
      keys: new SourceKeys(tools.site.sources),
      telemetry: tools.telemetry,
      logger,
      bodyLimitBytes: options.bodyLimitBytes ?? tools.site.limits.bodyBytes,
      onSubmission: (from, outcome) => refused.note(from, outcome),
    },
  );
  if (strategy) {
    app.connectMicroservice({ strategy });
    await app.startAllMicroservices();
  }
  await app.listen({ host: '127.0.0.1', port: 0 });
  return { app, url: await app.getUrl(), strategy, countRefusals: () => refused.flush() };
}

function strategyOf({ port, leads, resolved, replay }: NonNullable<DoorOptions['kafka']>, logger: Logger): MessagingStrategy {
  const subscription = ({ topic, group }: Place, pattern: string, event: EventDescriptor<unknown>) => ({
    group,
    pattern,
    topics: pattern === topics.leads && replay ? [topic, replay.topic] : [topic],
    event,
  });
  return new MessagingStrategy({
    kafka: port,
    codec,
    subscriptions: [subscription(leads, topics.leads, LeadSubmittedEvent), subscription(resolved, topics.leadResolved, LeadResolvedEvent)],
    sessionTimeoutMs: 1_500,
    commitEveryMs: 20,
    logger,
  });
}
