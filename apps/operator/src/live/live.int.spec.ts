import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { DestinationsAnswer } from '#delivery';
import type { Database } from '#runtime';
import { eventually, notificationsOf, type TestDatabase, testDatabase } from '#testkit';
import { openOperatorDatabase, silent } from '../../test/rig.js';
import type { Area, AreaTools } from '../area.js';
import { createApp } from '../http/create-app.js';
import { permissionsOf } from '../people/permissions.js';
import { Changes } from './changes.js';
import { liveArea } from './live.controller.js';
import { watchDestinations } from './watch-destinations.js';

let database: TestDatabase;
let db: Database;
let app: NestFastifyApplication;
let area: Area;
let notifications: ReturnType<typeof notificationsOf>;
let url: string;
const aborted = new AbortController();
const heard: string[] = [];

beforeAll(async () => {
  database = await testDatabase('live');
  db = await openOperatorDatabase(database.url);
  notifications = notificationsOf(database.url);
  area = await liveArea({ notifications, owners: new Map(), logger: silent } as unknown as AreaTools);
  app = await createApp(
    { inbox: {} as never, areas: [area] },
    {
      identify: async (authorization) =>
        authorization === 'Bearer vera'
          ? { subject: 'vera', name: 'Vera', roles: ['viewer'], permissions: permissionsOf(['viewer']), organizations: '*' }
          : undefined,
      onRefused: async () => undefined,
      logger: silent,
    },
  );
  await area.start?.();
  await app.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}/v1/live`;
});
afterAll(async () => {
  aborted.abort();
  await app.close();
  await area.stop?.();
  await notifications.close();
  await db.close();
  await database.drop();
});

const open = (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: aborted.signal });

const letterSql = `INSERT INTO dead_letter (dead_letter_id, identity, service, test, class, attempts, dead_at, received_at, owner, disposition, respond_by,
    delete_after, operations, history, found_by, checked_at)
  VALUES (gen_random_uuid(), gen_random_uuid()::text, 'crm-writer', false, 'permanent', 1, now(), now(), 'crm', 'manual', now(), now(), '[]', '[]', 'topic', now())`;

describe('the live stream', () => {
  let ended = false;

  it('lets in only whom it knows', async () => {
    expect((await open('stranger')).status).toBe(401);
  });

  it('tells what has changed, by name alone, and not that a row was looked after', async () => {
    const response = await open('vera');
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    void (async () => {
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) heard.push(piece.value);
      ended = true;
    })().catch(() => undefined);
    const changes = () =>
      heard
        .join('')
        .split('\n')
        .filter((line) => line.startsWith('data:'));
    // The listener opens its connection by itself: until it has, nothing arrives.
    await eventually(
      'a new dead letter to be told',
      async () => {
        await db.sql('spec.letter', letterSql, []);
        return changes().length > 0;
      },
      { timeoutMs: 20_000 },
    );
    // What is told of the connection itself is over.
    let before = -1;
    const nothingNew = (): boolean => {
      const [last, now] = [before, changes().length];
      before = now;
      return last === now;
    };
    await eventually('silence', nothingNew, { everyMs: 500 });
    await db.sql('spec.close', "UPDATE dead_letter SET state = 'closed'", []);
    await eventually('the closed letters to be told', () => changes().length > before);
    expect(changes().slice(before)).toEqual(['data: {"what":["dead-letters"]}']);

    const count = changes().length;
    await db.sql('spec.look', 'UPDATE dead_letter SET checked_at = now()', []);
    await db.sql(
      'spec.batch',
      `INSERT INTO replay_batch (batch_id, state, selection, maximum) VALUES (gen_random_uuid(), 'draft', '{}', 1)`,
      [],
    );
    await eventually('the new batch to be told', () => changes().length > count);
    expect(changes().slice(count)).toEqual(['data: {"what":["batches"]}']);
  });

  it('ends when the service stops', async () => {
    await app.close();
    await eventually('the stream to end', () => ended);
  });
});

describe('destinations', () => {
  it('are asked for only while somebody listens, and told when one is in another state', async () => {
    let asked = 0;
    let mode: DestinationsAnswer['items'][number]['mode'] = 'flowing';
    const destinations = async (): Promise<DestinationsAnswer> => {
      asked += 1;
      return { items: [{ destination: 'crm', mode, cool_downs: 0, as_of: new Date().toISOString() }] };
    };
    const changes = new Changes();
    const watch = watchDestinations(new Map([['crm-writer', { destinations }]]), changes);
    await watch();
    expect(asked).toBe(0);
    const told: string[] = [];
    const end = changes.listen((what) => told.push(...what));
    await watch();
    await watch();
    mode = 'blocked';
    await watch();
    await eventually('the change to be told', () => told.length > 0);
    expect(told).toEqual(['destinations']);
    end();
    await watch();
    expect(asked).toBe(3);
  });
});
