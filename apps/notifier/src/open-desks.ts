import { dlqTopic, groups, type LeadResolved, replayTopic, retryTopic, topics } from '#contracts';
import {
  createDestinationControl,
  DeliveryEngine,
  type DestinationControl,
  type KnownStates,
  knownStates,
  type Lateness,
  type ReplayGate,
} from '#delivery';
import type { MessagingStrategy, Relay } from '#messaging';
import type { ServiceContext } from '#runtime';
import { ChannelDesk } from './channel-desk.js';
import { Desks } from './desks.js';
import type { notifierEnv } from './env.js';
import { NotifierTarget } from './notifier-target.js';
import type { OpenChannel } from './open-channels.js';
import { OwnerlessLeads } from './ownerless/ownerless-leads.js';
import type { Storage } from './storage.js';
import { OutdatedTellings } from './telling/outdated.js';
import { channelPolicy, type Tempo } from './telling-limits.js';

export interface DeskParts {
  storage: Storage;
  relay: Relay;
  channels: ReadonlyMap<string, OpenChannel>;
  strategy: MessagingStrategy;
  replays?: ReplayGate;
  tempo: Tempo;
  lateness?: Lateness;
}

export interface OpenDesks {
  desks: Desks;
  known: KnownStates;
  startControls(): Promise<void>;
  stopControls(): Promise<void>;
  stopEngines(): Promise<void>;
}

const group = groups.notifier;
export const notifierDlq = dlqTopic(topics.leadResolved, group);
export const notifierWakeTopic = (tier: Parameters<typeof retryTopic>[2]): string => retryTopic(topics.leadResolved, group, tier);

/** A site without a channel still has to put aside what cannot be read. */
const noChannel = 'none';
/** Records with all engines at once; the consumer hands out 2,000. */
const mostAtDesks = 1_600;
const mostAtOneDesk = 400;

/** One engine and one destination control per channel, each behind its desk. */
export function openDesks(context: ServiceContext<typeof notifierEnv>, parts: DeskParts): OpenDesks {
  const { site, logger } = context;
  const { channels, strategy, relay, storage } = parts;
  const { db } = storage;
  const outdated = new OutdatedTellings({ db, site, channels, replayTopic: replayTopic(topics.leadResolved, group), logger });
  const ownerless = new OwnerlessLeads({ db, site, channels, dlqTopic: notifierDlq, relayWake: () => relay.wake() });
  const names = channels.size > 0 ? [...channels.keys()] : [noChannel];
  const most = Math.min(mostAtOneDesk, Math.ceil(mostAtDesks / names.length));
  const desks = new Map<string, ChannelDesk>();
  const controls = new Map<string, DestinationControl>();
  const engines: DeliveryEngine<LeadResolved>[] = [];
  for (const channel of names) {
    const desk = new ChannelDesk({ channel, group: () => strategy.consumer(group), most });
    const control = openControl(context, parts, channel);
    const engine = openEngine(context, parts, { channel, desk, control, outdated });
    desk.serve(engine);
    desks.set(channel, desk);
    controls.set(channel, control);
    engines.push(engine);
  }
  const known = knownStates(controls);
  const all = [...controls.values()];
  return {
    desks: new Desks({ site, channels, desks, ownerless, outdated, logger }),
    known,
    startControls: async () => void (await Promise.all(all.map((control) => control.start()))),
    stopControls: async () => {
      known.stop();
      await Promise.all(all.map((control) => control.stop()));
    },
    stopEngines: async () => void (await Promise.all(engines.map((engine) => engine.stop()))),
  };
}

function openControl(
  { logger }: ServiceContext<typeof notifierEnv>,
  { storage, relay, tempo }: DeskParts,
  channel: string,
): DestinationControl {
  return createDestinationControl({
    db: storage.db,
    destination: channel,
    policy: channelPolicy(tempo),
    logger,
    notifications: relay.notifications,
  });
}

function openEngine(
  { env, site, logger, telemetry }: ServiceContext<typeof notifierEnv>,
  { storage, relay, channels, replays, tempo, lateness }: DeskParts,
  { channel, desk, control, outdated }: { channel: string; desk: ChannelDesk; control: DestinationControl; outdated: OutdatedTellings },
): DeliveryEngine<LeadResolved> {
  return new DeliveryEngine<LeadResolved>({
    db: storage.db,
    target: new NotifierTarget({ site, channels, channel, leaseMs: env.LEASE_MS, backoff: tempo.backoff, outdated, logger }),
    destination: control,
    replays,
    group,
    control: () => desk.control,
    dlqTopic: notifierDlq,
    wakeTopic: notifierWakeTopic,
    relayWake: () => relay.wake(),
    lateness,
    telemetry,
    logger,
    leaseMs: env.LEASE_MS,
  });
}
