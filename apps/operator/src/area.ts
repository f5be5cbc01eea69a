import type { Provider, Type } from '@nestjs/common';
import type { JWK } from 'jose';
import type { Codec, Notifications } from '#messaging';
import type { Database, InternalClient, InternalServer, Logger, ServiceContext, Site } from '#runtime';
import type { operatorEnv } from './env.js';
import type { OwnerApi } from './owners/owner-api.js';
import type { SignInNow } from './people/oidc-discovery.js';

/** What the areas work with. */
export interface AreaTools {
  env: ServiceContext<typeof operatorEnv>['env'];
  site: Site;
  db: Database;
  codec: Codec;
  /** Services that own deliveries, by name. */
  owners: ReadonlyMap<string, OwnerApi>;
  /** Every service that INTERNAL_URLS names, by name. */
  clients: ReadonlyMap<string, InternalClient>;
  /** Signs permits. */
  privateKey: JWK;
  /** Absent: people paste a token. */
  signIn?: SignInNow;
  /** Of the database. */
  notifications: Notifications;
  /** Tells the relay that there is a row in the outbox. */
  relayWake: () => void;
  logger: Logger;
}

/** One area of the operator's surface: its doors and what it does by itself. */
export interface Area {
  controllers?: Type[];
  /** What the controllers are handed. */
  providers?: Provider[];
  /** Adds routes to the internal API. */
  serve?(server: InternalServer): void;
  /** Done every FOLLOW_MS, in this order, after the steps of the areas before; each compares before it sets. */
  steps?: Readonly<Record<string, () => Promise<unknown>>>;
  /** Called before the doors open. */
  start?(): Promise<void> | void;
  /** Called after the doors are closed. */
  stop?(): Promise<void> | void;
}

export type OpenArea = (tools: AreaTools) => Area | Promise<Area>;
