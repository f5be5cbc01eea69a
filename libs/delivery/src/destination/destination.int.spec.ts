import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createLogger, type Database, DatabaseUnavailable, metricsText, migrateService, openDatabase } from '#runtime';
import { eventually, notificationsOf, type TestDatabase, testDatabase } from '#testkit';
import type { Outcome } from '../outcome.js';
import { destinationsToProbe, heldDestinations, holdDestination, releaseDestination } from './commands.js';
import type { DestinationControl, DestinationControlOptions, DestinationPolicy, Mode } from './control.js';
import { createDestinationControl } from './create-control.js';
import { destinationDdl } from './ddl.js';
import { destinationsRoute } from './destinations-route.js';
import { bucketOf, draw } from './quota-bucket.js';
import { drawTokens, ensureRows, readRows } from './state-sql.js';

const policy: DestinationPolicy = {
  concurrency: 20,
  breaker: { window: 20, minimum: 5, ratio: 0.9, coolDownMs: 15_000, longestCoolDownMs: 60_000 },
  retryBudget: 0.2,
  backoff: { baseMs: 15_000, capMs: 300_000 },
};
const ok: Outcome = { kind: 'succeeded', ref: 'r', status: 200 };
const unavailable: Outcome = { kind: 'uncertain', code: 'http_503', status: 503 };
const refused: Outcome = { kind: 'transient', code: 'connect_refused', provablyNotExecuted: true };
const invalid: Outcome = { kind: 'permanent', class: 'permanent', code: 'http_422', status: 422 };
const logger = createLogger('spec', 'silent');

class CreateDestinations1764374400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(destinationDdl);
  }

  async down(): Promise<void> {}
}

// Statements, polls and pauses are real; the machine may be busy.
jest.setTimeout(60_000);

let fresh: TestDatabase;
let owner: pg.Client;
/** One for each process. */
let databases: Database[] = [];
let heard: ReturnType<typeof notificationsOf>[] = [];
let destination = '';
let advancedMs = 0;
const controls: DestinationControl[] = [];
const pumps: AbortController[] = [];

beforeAll(async () => {
  fresh = await testDatabase('destination');
  await migrateService({ url: fresh.url, service: 'crm-writer', migrations: [CreateDestinations1764374400000] });
  const open = () =>
    openDatabase({ url: fresh.url, role: 'ld_crm_writer', schema: 'crm_writer', applicationName: 'destination-spec', poolSize: 3 });
  databases = [await open(), await open()];
  heard = [notificationsOf(fresh.url), notificationsOf(fresh.url)];
  owner = new pg.Client({ connectionString: fresh.url });
  await owner.connect();
});
beforeEach(() => {
  destination = `crm-${randomUUID()}`;
});
afterEach(async () => {
  for (const running of pumps.splice(0)) running.abort();
  await Promise.all(controls.splice(0).map((control) => control.stop()));
});
afterAll(async () => {
  await owner.end();
  await Promise.all(heard.map((one) => one.close()));
  await Promise.all(databases.map((db) => db.close()));
  await fresh.drop();
});

/** Sets the schema's clock further ahead of the real one. */
async function advance(ms: number): Promise<void> {
  advancedMs += ms;
  await owner.query(`CREATE OR REPLACE FUNCTION crm_writer.clock_now() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS $$ SELECT clock_timestamp() + interval '${advancedMs} milliseconds' $$`);
}

async function start(index: 0 | 1, more: Partial<DestinationControlOptions> = {}): Promise<DestinationControl> {
  const control = createDestinationControl({
    db: databases[index] as Database,
    destination,
    policy,
    logger,
    notifications: heard[index],
    ...more,
  });
  controls.push(control);
  await control.start();
  return control;
}

const startBoth = (more: Partial<DestinationControlOptions> = {}) => Promise.all([start(0, more), start(1, more)]);

let leads = 0;
const newLead = () => `${randomUUID()}:${destination}:lead-${leads++}`;

/** One whole call; an answer takes a moment. */
async function call(control: DestinationControl, answer: () => Outcome | Promise<Outcome>, operationKey = newLead()): Promise<string> {
  const { kind } = control.admit({ operationKey, retry: false });
  if (kind === 'go') control.report({ operationKey, outcome: await answer() });
  return kind;
}

const failUntilBlocked = async (control: DestinationControl) => {
  for (let n = 0; n < 2; n++) await call(control, () => refused);
  expect(control.mode).toBe('blocked');
};
/** What one process learns the others come to know. How soon at the latest is shown by the specs that hold the clock. */
const mode = (control: DestinationControl, wanted: Mode) => eventually(`mode ${wanted}`, () => control.mode === wanted, { everyMs: 5 });
const row = async () => (await readRows(databases[0] as Database, [destination])).get(destination)?.state;

/** Sends whatever both may send until told to stop. `answer` is asked as the request arrives. */
function pump(both: readonly DestinationControl[], answer: () => Outcome): () => Promise<void> {
  const stop = new AbortController();
  pumps.push(stop);
  const running = both.map(async (control) => {
    while (!stop.signal.aborted) {
      for (let n = control.limit(); n > 0; n--) {
        void call(control, async () => {
          const outcome = answer();
          await delay(5);
          return outcome;
        });
      }
      await delay(10);
    }
  });
  return async () => {
    stop.abort();
    await Promise.all(running);
    await delay(20);
  };
}

describe('two processes that send to one destination', () => {
  it('are both blocked when one of them sees it fail', async () => {
    const [one, two] = await startBoth();
    expect([one.mode, two.mode]).toEqual(['flowing', 'flowing']);
    for (let n = 0; n < 5; n++) await call(one, () => unavailable);
    expect([one.mode, one.reason]).toEqual(['blocked', 'failing']);
    await mode(two, 'blocked');
    expect(two.reason).toBe('failing');
    expect(await metricsText()).toContain(`leads_circuit_open{destination="${destination}",reason="failing"} 1`);
  });

  it('find out by themselves where notifications do not arrive', async () => {
    const one = await start(0);
    const two = await start(1, { db: dyingDatabase(databases[1] as Database), notifications: undefined });
    await failUntilBlocked(one);
    await mode(two, 'blocked');
    expect(two.reason).toBe('failing');
  });

  it('case 16: send one request in each time a destination throttles, beyond what was in flight', async () => {
    const both = await startBoth();
    const windowMs = 1_500;
    let openAgainMs = 0;
    const windows: number[] = [];
    let flowing = true;
    const answer = (): Outcome => {
      const nowMs = performance.now();
      if (flowing) return ok;
      if (nowMs >= openAgainMs) {
        openAgainMs = nowMs + windowMs;
        windows.push(0);
      }
      windows[windows.length - 1] = (windows.at(-1) ?? 0) + 1;
      return { kind: 'throttled', code: 'http_429', status: 429, afterMs: openAgainMs - nowMs };
    };
    const stop = pump(both, answer);
    await delay(200);
    flowing = false;
    await eventually('four windows', () => windows.length === 5);
    await stop();
    const [first, ...rest] = windows;
    expect(first).toBeLessThanOrEqual(2 * policy.concurrency);
    expect(rest).toEqual([1, 1, 1, 1]);
    expect(both.map(({ reason }) => reason)).toEqual(['throttled', 'throttled']);
  });

  it('make three probes in a cool-down at most, each with another lead, and wait longer each time', async () => {
    const both = await startBoth();
    await failUntilBlocked(both[0]);
    await mode(both[1], 'blocked');
    const probes: string[] = [];
    const limits: number[] = [];
    const waiting = Array.from({ length: 6 }, newLead);
    for (const expected of [2, 3, 4]) {
      const { block } = (await row()) ?? {};
      const { nowMs } = (await readRows(databases[0] as Database, [destination])).get(destination) ?? { nowMs: 0 };
      limits.push(Math.round(((block?.openAtMs ?? 0) - nowMs) / 1_000));
      await advance((block?.openAtMs ?? 0) - nowMs);
      const before = probes.length;
      await eventually('the next cool-down', async () => {
        for (const control of both)
          for (const lead of waiting) if ((await call(control, () => unavailable, lead)) === 'go') probes.push(lead);
        return (await row())?.coolDowns === expected;
      });
      expect(probes.length - before).toBe(1);
    }
    expect(new Set(probes).size).toBe(3);
    expect(limits[0]).toBeLessThanOrEqual(18);
    expect(limits[1]).toBeGreaterThanOrEqual(28);
    expect(limits[2]).toBeGreaterThanOrEqual(58);
  });

  it('ramp together after two leads were answered', async () => {
    const both = await startBoth();
    await failUntilBlocked(both[0]);
    await advance(20_000);
    const answered: number[] = [0, 0];
    let largest = 0;
    await eventually('the ramp', async () => {
      for (const [index, control] of both.entries())
        if ((await call(control, () => ok)) === 'go') answered[index] = (answered[index] ?? 0) + 1;
      return both.some((control) => control.mode === 'ramping');
    });
    expect((answered[0] ?? 0) + (answered[1] ?? 0)).toBeGreaterThanOrEqual(2);
    await Promise.all(both.map((control) => mode(control, 'ramping')));
    for (const control of both) largest = Math.max(largest, control.limit());
    expect(largest).toBeLessThanOrEqual(policy.concurrency / 2);
    await advance(4_000);
    await Promise.all(both.map((control) => mode(control, 'flowing')));
    expect(both.map((control) => control.limit())).toEqual([20, 20]);
  });

  it('take over the probe of a process that died with it', async () => {
    const dying = dyingDatabase(databases[1] as Database);
    const one = await start(0);
    const two = await start(1, { db: dying });
    await failUntilBlocked(one);
    await mode(two, 'blocked');
    await advance(20_000);
    await eventually('the second one probes', async () => {
      if (two.mode !== 'probing') return false;
      return two.admit({ operationKey: newLead(), retry: false }).kind === 'go';
    });
    dying.dead = true;
    await delay(1_200);
    expect(one.mode).toBe('blocked');
    await advance(10_000);
    await mode(one, 'probing');
    await eventually('the dead one knows nothing any more', () => two.mode === 'blocked' && two.reason === undefined);
  });

  it('keep to a quota together', async () => {
    const quota = { requests: 40, perMs: 1_000 };
    const sendFor = async (ms: number, both: DestinationControl[]) => {
      const atMs: number[] = [];
      const stop = pump(both, () => {
        atMs.push(performance.now());
        return ok;
      });
      await delay(ms);
      await stop();
      return { sent: atMs.length, most: Math.max(...atMs.map((from) => atMs.filter((at) => at >= from && at < from + 950).length)) };
    };
    const limited = await sendFor(4_000, await startBoth({ policy: { ...policy, quota } }));
    expect(limited.most).toBeLessThanOrEqual(40);
    expect(limited.sent).toBeGreaterThan(100);
    // Without it the same processes would have sent more.
    await Promise.all(controls.splice(0).map((control) => control.stop()));
    expect((await sendFor(1_000, await startBoth())).most).toBeGreaterThan(2 * 40);
  });

  it('both stop on a hold, and only a person releases it', async () => {
    const both = await startBoth();
    const [one, two] = both;
    const sent = { count: 0, lastAtMs: 0 };
    const stop = pump(both, () => {
      sent.count++;
      sent.lastAtMs = performance.now();
      return ok;
    });
    await eventually('both are at work', () => sent.count > 100);
    await holdDestination(databases[0] as Database, { destination, by: 'ada', reason: 'moving the CRM' });
    const heldAtMs = performance.now();
    await Promise.all([mode(one, 'blocked'), mode(two, 'blocked')]);
    expect([one.reason, two.reason]).toEqual(['hold', 'hold']);
    const { count } = sent;
    for (const control of both) expect(await call(control, () => ok)).toBe('blocked');
    expect(await heldDestinations(databases[0] as Database)).toContain(destination);
    await advance(3_600_000);
    await delay(1_200);
    expect([one.mode, two.mode, sent.count]).toEqual(['blocked', 'blocked', count]);
    console.log(`held: the last request came ${Math.round(sent.lastAtMs - heldAtMs)} ms after it`);
    await stop();
    const { items } = await destinationsRoute(databases[0] as Database)();
    const item = items.find((one) => one.destination === destination);
    expect(item).toMatchObject({ mode: 'blocked', reason: 'hold', hold: { by: 'ada', reason: 'moving the CRM' }, cool_downs: 0 });
    expect(Date.parse(item?.as_of ?? '')).toBeGreaterThan(Date.now() + 3_000_000);
    await releaseDestination(databases[1] as Database, { destination, by: 'ada' });
    await Promise.all([mode(one, 'ramping'), mode(two, 'ramping')]);
    expect(await heldDestinations(databases[0] as Database)).not.toContain(destination);
  });

  it('ask the check call before they believe that nobody may call, and go on when it passes', async () => {
    let valid = true;
    let checks = 0;
    const check = async () => {
      checks++;
      await delay(20);
      return { ok: valid };
    };
    const [one, two] = await startBoth({ check });
    const unauthorized = (): Outcome => ({ kind: 'auth', code: 'http_401', status: 401 });
    await call(one, unauthorized);
    await delay(100);
    expect([one.mode, checks]).toEqual(['flowing', 1]);
    valid = false;
    await Promise.all(Array.from({ length: 10 }, () => call(one, unauthorized)));
    await mode(two, 'blocked');
    expect([two.reason, checks <= 4]).toEqual(['auth', true]);
    expect(await heldDestinations(databases[0] as Database)).toContain(destination);
    valid = true;
    const before = checks;
    await advance(20_000);
    expect(await destinationsToProbe(databases[0] as Database)).toContain(destination);
    await Promise.all([mode(one, 'ramping'), mode(two, 'ramping')]);
    expect(checks).toBe(before + 1);
    expect(await heldDestinations(databases[0] as Database)).not.toContain(destination);
  });

  it('are not stopped by leads that are refused', async () => {
    const both = await startBoth();
    let answered = 0;
    const stop = pump(both, () => (answered++ % 2 === 0 ? invalid : ok));
    await eventually('500 answers', () => answered > 500);
    await stop();
    // Half of them would not stop anybody, failed or not: so many in a row as fill the window would.
    for (const control of both) for (let n = 0; n < 2 * policy.breaker.window; n++) expect(await call(control, () => invalid)).toBe('go');
    expect(both.map((control) => control.mode)).toEqual(['flowing', 'flowing']);
    expect(await row()).toMatchObject({ version: 1 });
  });

  it('send on without the database for a while, then nothing until it is back', async () => {
    const dying = dyingDatabase(databases[1] as Database);
    const control = await start(1, { db: dying });
    let sentAtMs = 0;
    const stop = pump([control], () => {
      sentAtMs = performance.now();
      return ok;
    });
    const readAtMs = performance.now();
    dying.refusing = true;
    await delay(3_000);
    expect(control.mode).toBe('flowing');
    expect(sentAtMs - readAtMs).toBeGreaterThan(2_000);
    await eventually('it is blocked', () => control.mode === 'blocked');
    const lastAtMs = sentAtMs;
    console.log(`without the database: the last request came after ${Math.round(lastAtMs - readAtMs)} ms`);
    expect([control.reason, control.limit(), await call(control, () => ok)]).toEqual([undefined, 0, 'blocked']);
    await delay(1_200);
    expect(sentAtMs).toBe(lastAtMs);
    dying.refusing = false;
    await mode(control, 'flowing');
    await eventually('it sends again', () => sentAtMs > lastAtMs);
    await stop();
  });
});

describe('the row of a destination', () => {
  it('draws tokens as the bucket is declared', async () => {
    const [db] = databases as [Database];
    await ensureRows(db, [destination]);
    const bucket = bucketOf({ requests: 50, perMs: 60_000 });
    let held: { level: number; atMs: number } | undefined;
    for (let n = 0; n < 40; n++) {
      const wanted = { want: (n * 7) % 5, owed: n % 11 === 0 ? 2 : 0 };
      await advance((n * 1_237) % 4_000);
      const drawn = await drawTokens(db, destination, { ...wanted, bucket });
      const { rows } = await owner.query<{ at: number; level: number }>(
        `SELECT extract(epoch FROM quota_at)::float8 * 1000 AS at, quota_tokens AS level FROM crm_writer.destination_state WHERE destination = $1`,
        [destination],
      );
      const { at, level } = rows[0] ?? { at: 0, level: 0 };
      const expected = draw(bucket, held && { level: held.level, sinceMs: at - held.atMs }, wanted);
      expect(drawn.granted).toBe(expected.granted);
      expect(level).toBeCloseTo(expected.level, 3);
      expect(drawn.waitMs).toBeCloseTo(expected.waitMs, 0);
      held = { level, atMs: at };
    }
  });

  it('loses no command, however many change it at once', async () => {
    const hold = (n: number) => holdDestination(databases[n % 2] as Database, { destination, by: `ada-${n}`, reason: 'x' });
    await Promise.all(Array.from({ length: 12 }, (_, n) => hold(n)));
    expect(await row()).toMatchObject({ version: 13, hold: { reason: expect.stringMatching(/^x; before, ada-\d+: x; before/) } });
  });

  it('take no command about a hold that is another than the one that was seen', async () => {
    const db = databases[0] as Database;
    const holdSince = async () => {
      const { items } = await destinationsRoute(db)();
      return items.find((one) => one.destination === destination)?.hold?.at ?? null;
    };
    expect(await holdDestination(db, { destination, by: 'ada', reason: 'their change', since: null })).toBe(true);
    const seen = await holdSince();
    expect(await holdDestination(db, { destination, by: 'ben', reason: 'mine', since: null })).toBe(false);
    await advance(1_000);
    expect(await holdDestination(db, { destination, by: 'ben', reason: 'our bill', since: seen })).toBe(true);
    expect(await row()).toMatchObject({ hold: { by: 'ben', reason: 'our bill; before, ada: their change' } });
    expect(await releaseDestination(db, { destination, by: 'ada', since: seen })).toBe(false);
    expect(await heldDestinations(db)).toContain(destination);
    expect(await releaseDestination(db, { destination, by: 'ada', since: await holdSince() })).toBe(true);
    expect(await heldDestinations(db)).not.toContain(destination);
  });

  it('is made again when it was removed', async () => {
    const control = await start(0);
    await owner.query('DELETE FROM crm_writer.destination_state WHERE destination = $1', [destination]);
    await eventually('the row is back', row);
    expect(control.mode).toBe('flowing');
    await failUntilBlocked(control);
    await eventually('it is told', async () => (await row())?.block?.reason === 'failing');
  });
});

/** A database that can die with its process (nothing ever answers again), or refuse for a while. */
function dyingDatabase(inner: Database): Database & { dead: boolean; refusing: boolean } {
  const dying = {
    ...inner,
    dead: false,
    refusing: false,
    sql: async <R>(name: string, text: string, values: readonly unknown[]): Promise<R[]> => {
      if (dying.dead) return new Promise(() => {});
      if (dying.refusing) throw new DatabaseUnavailable('spec');
      const rows = await inner.sql<R>(name, text, values);
      return dying.dead ? new Promise(() => {}) : rows;
    },
  };
  return dying;
}
