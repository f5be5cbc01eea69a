import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createLogger, type Database, migrateService, openDatabase } from '#runtime';
import { eventually, type TestDatabase, testDatabase } from '#testkit';
import type { KafkaPort } from '../kafka/ports.js';
import { outboxDdl } from '../outbox/outbox.js';
import { createRelay, type Relay } from './relay.js';

class CreateOutbox1764374400001 implements MigrationInterface {
  up = (runner: QueryRunner) => runner.query(outboxDdl);
  down = () => Promise.reject(new Error('not needed'));
}

jest.setTimeout(60_000);

let server: TestDatabase;
let db: Database;
let owner: pg.Client;
let relay: Relay;

beforeAll(async () => {
  server = await testDatabase('notifications');
  await migrateService({ url: server.url, service: 'relay-spec', migrations: [CreateOutbox1764374400001] });
  db = await openDatabase({ url: server.url, role: 'ld_relay_spec', schema: 'relay_spec', applicationName: 'relay-spec' });
  owner = new pg.Client({ connectionString: server.url });
  await owner.connect();
  // Nothing lies in the outbox, so that Kafka is asked for nothing.
  relay = createRelay({ db, kafka: {} as KafkaPort, logger: createLogger('spec', 'silent'), pollMs: 100 });
  await relay.start();
});
afterAll(async () => {
  await relay.stop();
  await owner.end();
  await db.close();
  await server.drop();
});

/** What is heard on a channel; `again` stands for a connection. */
function hear(channel: string): { heard: string[]; leave: () => void } {
  const heard: string[] = [];
  const leave = relay.notifications.listen(channel, { notified: (text) => heard.push(text), reconnected: () => heard.push('again') });
  return { heard, leave };
}
const tell = (channel: string, text: string) => owner.query('select pg_notify($1, $2)', [channel, text]);
const listening = async () =>
  (await owner.query(`select pid from pg_stat_activity where datname = current_database() and application_name = 'relay-spec relay'`)).rows;

describe('notifications over the connection of the relay', () => {
  it('reach whoever listens on their channel, several channels on one connection', async () => {
    const [one, twin, other] = [hear('one'), hear('one'), hear('other')];
    await eventually('all to listen', () => [one, twin, other].every(({ heard }) => heard.includes('again')));
    await tell('one', 'first');
    await tell('other', 'second');
    await eventually('both', () => other.heard.includes('second'));
    expect([one.heard, twin.heard, other.heard]).toEqual([
      ['again', 'first'],
      ['again', 'first'],
      ['again', 'second'],
    ]);
    expect(await listening()).toHaveLength(1);
  });

  it('do not reach those who have left', async () => {
    const [stays, leaves] = [hear('left'), hear('left')];
    await eventually('both to listen', () => leaves.heard.length === 1 && stays.heard.length === 1);
    leaves.leave();
    await tell('left', 'news');
    await eventually('the other one to hear', () => stays.heard.includes('news'));
    expect(leaves.heard).toEqual(['again']);
  });

  it('are heard again on the next connection, which says that something may have been missed', async () => {
    const { heard } = hear('lost');
    await eventually('it to listen', () => heard.length === 1);
    await owner.query('select pg_terminate_backend($1)', [(await listening())[0].pid]);
    await eventually('the next connection', () => heard.length === 2);
    await tell('lost', 'news');
    await eventually('news', () => heard.includes('news'));
    expect(heard).toEqual(['again', 'again', 'news']);
  });
});
