import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type EventDescriptor, groups, LeadResolvedEvent, LeadSubmittedEvent, topics } from '#contracts';
import type { ReplayGate } from '#delivery';
import { KafkaDoor, type KafkaPort, MessagingStrategy } from '#messaging';
import type { InternalClient, ServiceContext } from '#runtime';
import type { AcceptTools } from './accept-leads.js';
import { Consents } from './consent/consents.js';
import type { intakeEnv } from './env.js';
import { createApp } from './http/create-app.js';
import { HttpAcceptance } from './http/http-acceptance.js';
import { SourceKeys } from './http/source-keys.js';
import { LeadJourneys } from './journey/lead-journeys.js';
import { LiveStates } from './journey/live-states.js';
import { DatabasePatience } from './kafka/database-patience.js';
import { ResolvedLeads } from './kafka/resolved-leads.js';
import { SubmittedLeads } from './kafka/submitted-leads.js';
import { RefusalsTally } from './received/refusals-tally.js';
import { ReplayedItems } from './replay/replayed-items.js';
import type { Storage } from './storage.js';

/** Of the second that an answer about a lead may take; the rest is for our own rows. */
export const askOwnersWithinMs = 800;

export interface DoorParts {
  kafka: KafkaPort;
  storage: Storage;
  tools: AcceptTools;
  owners: Record<string, InternalClient>;
  gate?: ReplayGate;
}

/** Both doors; neither takes anything yet. */
export interface Doors {
  app: NestFastifyApplication;
  strategy: MessagingStrategy;
  kafka: KafkaDoor;
  /** Both stop taking; what was taken is answered or settled. Waiting for PostgreSQL ends: what is not settled comes again. */
  close(): Promise<void>;
}

/** Makes the HTTP door and the Kafka door. */
export async function createDoors(context: ServiceContext<typeof intakeEnv>, parts: DoorParts): Promise<Doors> {
  const { site, logger, telemetry } = context;
  const { kafka, storage, tools, owners, gate } = parts;
  const { db } = storage;
  const strategy = messagingStrategy(context, { kafka, storage });
  const patience = (group: string) => new DatabasePatience({ group: () => strategy.consumer(group), logger });
  const waiting = { leads: patience(groups.intake), states: patience(groups.intakeStates) };
  const acceptance = new HttpAcceptance(tools);
  const refused = new RefusalsTally({ db, logger });
  const replayed = new ReplayedItems({ ...tools, ...storage, topic: topics.intakeReplay, gate, logger });
  const app = await createApp(
    {
      acceptance,
      journeys: new LeadJourneys({ ...storage, live: new LiveStates(owners, askOwnersWithinMs) }),
      consents: new Consents(db),
      submitted: new SubmittedLeads({ ...tools, logger, patience: waiting.leads }),
      resolved: new ResolvedLeads({ db, logger, patience: waiting.states }),
      replayed,
    },
    {
      keys: new SourceKeys(site.sources),
      telemetry,
      logger,
      bodyLimitBytes: site.limits.bodyBytes,
      onSubmission: (source, outcome) => refused.note(source, outcome),
    },
  );
  app.connectMicroservice({ strategy }, { inheritAppConfig: false });
  const door = new KafkaDoor({
    kafka,
    destinations: Object.keys(site.destinations),
    groups: [groups.intake, groups.intakeStates],
    produces: [topics.leadAccepted, topics.leadResolved, topics.intakeDlq],
    logger,
    begin: () => app.startAllMicroservices(),
  });
  const close = async (): Promise<void> => {
    door.stop();
    for (const one of Object.values(waiting)) one.stop();
    await app.close();
    await Promise.all([acceptance.idle(), replayed.idle()]);
    await refused.flush();
  };
  return { app, strategy, kafka: door, close };
}

function messagingStrategy(
  { env, logger }: ServiceContext<typeof intakeEnv>,
  { kafka, storage }: { kafka: KafkaPort; storage: Storage },
): MessagingStrategy {
  const subscribe = (group: string, [pattern, ...more]: [string, ...string[]], event: EventDescriptor<unknown>) => ({
    group,
    pattern,
    topics: [pattern, ...more],
    event,
  });
  return new MessagingStrategy({
    kafka,
    codec: storage.codec,
    sessionTimeoutMs: env.KAFKA_SESSION_TIMEOUT_MS,
    subscriptions: [
      subscribe(groups.intake, [topics.leads, topics.intakeReplay], LeadSubmittedEvent),
      subscribe(groups.intakeStates, [topics.leadResolved], LeadResolvedEvent),
    ],
    logger,
  });
}
