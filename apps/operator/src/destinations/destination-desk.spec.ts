import { beforeEach, describe, expect, it } from '@jest/globals';
import { commandRequest } from '#delivery';
import { type Database, type DestinationConfig, InternalUnavailable, type Site } from '#runtime';
import type { OwnerApi } from '../owners/owner-api.js';
import { permissions } from '../people/permissions.js';
import type { Person } from '../people/person.js';
import { DestinationDesk } from './destination-desk.js';

const config = (name: string, sandbox: boolean): DestinationConfig =>
  ({
    name,
    sandbox,
    concurrency: 8,
    retryBudget: 0.2,
    breaker: { coolDownMs: 15_000, longestCoolDownMs: 60_000 },
    connectTimeoutMs: 500,
    timeoutMs: 2_000,
    lookupTimeoutMs: 1_000,
    quota: { requests: 100, perMs: 60_000 },
  }) as DestinationConfig;

const site = {
  sources: [{ organization: 'acme' }, { organization: 'birch' }],
  routing: [
    { match: { organization: 'acme' }, destinations: ['acme-crm', 'shared'], chat: 'sales' },
    { match: { organization: 'birch' }, destinations: ['shared'] },
  ],
  destinations: {
    'acme-crm': { ...config('acme-crm', true), callLimits: { writeMs: 300, firstByteMs: 900, readMs: 700 } },
    shared: config('shared', false),
  },
  channels: { sales: { name: 'sales' } },
} as unknown as Site;

const personOf = (organizations: Person['organizations'], subject = 'olga'): Person => ({
  subject,
  name: subject,
  roles: ['admin'],
  permissions,
  organizations,
});
const everywhere = personOf('*');
const asOf = '2026-06-01T12:00:10.000Z';

let audited: { action: string; person: string; organization: unknown }[];
let commands: unknown[];
let posted: [path: string, body: unknown][];
let figures: object[];
let states: object[];
let notifierAway: boolean;
let outdated: boolean;
let desk: DestinationDesk;

beforeEach(() => {
  [audited, commands, posted, figures, states, notifierAway, outdated] = [[], [], [], [], [], false, false];
  const owner = (away: () => boolean): OwnerApi =>
    ({
      destinations: async () => {
        if (away()) throw new InternalUnavailable('down');
        return { items: states };
      },
      command: async (command: { destination: string }) => {
        commands.push(command);
        if (outdated) return { applied: false, reason: 'changed_meanwhile' };
        return command.destination === 'gone' ? { applied: false, reason: 'unknown_destination' } : { applied: true };
      },
    }) as unknown as OwnerApi;
  const client = (away: () => boolean) => ({
    post: async <T>(path: string, body: object): Promise<T> => {
      if (away()) throw new InternalUnavailable('down');
      posted.push([path, body]);
      return (path.endsWith('leads:test') ? { event_id: 'e-1', lead_ref: 'L-1' } : { items: figures, as_of: asOf }) as T;
    },
  });
  const up = () => false;
  const down = () => notifierAway;
  desk = new DestinationDesk({
    site,
    db: {
      sql: async (_name: string, _text: string, values: readonly unknown[]) => {
        audited.push({ person: String(values[1]), action: String(values[2]), organization: values[4] });
        return [];
      },
    } as unknown as Database,
    owners: new Map([
      ['crm-writer', owner(up)],
      ['notifier', owner(down)],
    ]),
    clients: new Map([
      ['crm-writer', client(up)],
      ['notifier', client(down)],
      ['intake', client(up)],
    ]),
  });
});

const status = (promise: Promise<unknown>) =>
  promise.then(
    () => 200,
    (error: { problem: { status: number } }) => error.problem.status,
  );

describe('the list of destinations', () => {
  it('shows what is set beside what is so', async () => {
    states = [
      { destination: 'shared', mode: 'blocked', reason: 'hold', hold: { by: 'olga', reason: 'why', at: asOf }, cool_downs: 0, as_of: asOf },
    ];
    figures = [
      {
        destination: 'shared',
        waiting: 3,
        held: 4,
        uncertain: 1,
        oldest_at: asOf,
        latency: {},
        by_hour: [],
        quota_tokens: 2,
        quota_at: '2026-06-01T12:00:00.000Z',
      },
    ];
    const { items } = await desk.list(everywhere);
    expect(items.find(({ destination }) => destination === 'shared')).toMatchObject({
      service: 'crm-writer',
      configured: true,
      mode: 'blocked',
      reason: 'hold',
      hold: { by: 'olga', reason: 'why', since: asOf },
      concurrency: 8,
      timeouts: { connect_ms: 500, total_ms: 2_000, lookup_ms: 1_000 },
      backlog: { waiting: 3, held: 4, uncertain: 1, oldest_at: asOf },
      test: { possible: false, why_not: expect.stringContaining('sandbox') },
    });
    // Two were left, and fifteen more came in ten seconds; ten may be made at once.
    expect(items.find(({ destination }) => destination === 'shared')?.quota).toMatchObject({ requests: 100, limit: 10, left: 10 });
    expect(items.find(({ destination }) => destination === 'acme-crm')).toMatchObject({
      mode: 'flowing',
      breaker: 'closed',
      test: { possible: true },
    });
  });

  it('shows how long each part of a call may take, where the site file says so', async () => {
    const { items } = await desk.list(everywhere);
    const timeoutsOf = (name: string) => items.find(({ destination }) => destination === name)?.timeouts;
    expect(timeoutsOf('acme-crm')).toEqual({
      connect_ms: 500,
      write_ms: 300,
      first_byte_ms: 900,
      read_ms: 700,
      total_ms: 2_000,
      lookup_ms: 1_000,
    });
    expect(timeoutsOf('shared')).toEqual({ connect_ms: 500, total_ms: 2_000, lookup_ms: 1_000 });
  });

  it('names a service that does not answer, and calls its channels unknown', async () => {
    notifierAway = true;
    const { items, unavailable } = await desk.list(everywhere);
    expect(unavailable).toEqual(['notifier']);
    expect(items.find(({ destination }) => destination === 'sales')).toMatchObject({ mode: 'unknown', breaker: 'unknown' });
  });

  it('shows a person only where own leads go', async () => {
    const names = async (person: Person) => (await desk.list(person)).items.map(({ destination }) => destination);
    expect(await names(personOf(['birch']))).toEqual(['shared']);
    expect(await names(personOf(['acme']))).toEqual(['acme-crm', 'shared', 'sales']);
    expect(await names(personOf(['nobody']))).toEqual([]);
  });
});

describe('what lies unclaimed on the topic', () => {
  const later = '2026-06-01T11:59:00.000Z';
  const earlier = '2026-06-01T11:00:00.000Z';
  const backlogWith = async (unclaimed?: object, more: object = {}) => {
    figures = [
      { destination: 'shared', waiting: 3, held: 4, uncertain: 0, oldest_at: later, latency: {}, by_hour: [], unclaimed, ...more },
    ];
    const { items } = await desk.list(everywhere);
    return items.find(({ destination }) => destination === 'shared');
  };

  it('stands beside what waits, with its own age, and the oldest is that of both', async () => {
    const item = await backlogWith({ count: 90, exact: true, oldest_at: earlier });
    expect(item?.backlog).toEqual({
      waiting: 3,
      held: 4,
      uncertain: 0,
      unclaimed: { count: 90, oldest_at: earlier },
      oldest_at: earlier,
    });
    expect((await backlogWith({ count: 1, exact: true, oldest_at: asOf }))?.backlog.oldest_at).toBe(later);
  });

  it('says that it is an upper bound, or why it is not known: then it has no number, and the backlog does not drain', async () => {
    expect((await backlogWith({ count: 90, exact: false }))?.backlog.unclaimed).toEqual({ count: 90, at_most: true });
    const item = await backlogWith({ unknown: 'kafka_away' });
    expect(item?.backlog).toEqual({ waiting: 3, held: 4, uncertain: 0, unclaimed: { unknown: 'kafka_away' }, oldest_at: later });
    expect(item?.drain).toBeUndefined();
    expect((await backlogWith())?.backlog).not.toHaveProperty('unclaimed');
  });

  it('is part of what drains', async () => {
    states = [{ destination: 'shared', mode: 'blocked', reason: 'hold', cool_downs: 0, as_of: asOf }];
    await backlogWith({ count: 90, exact: true });
    states = [{ destination: 'shared', mode: 'ramping', cool_downs: 0, as_of: asOf }];
    await backlogWith({ count: 60, exact: true }, { held: 0, waiting: 20 });
    expect((await backlogWith({ count: 0, exact: true }, { held: 0, waiting: 20 }))?.drain).toMatchObject({ left: 20, total: 97 });
  });
});

describe('holding', () => {
  const hold = (destination: string, person: Person) => desk.command({ destination, command: 'hold', reason: 'their change' }, person);

  it('is done in the name of the person and stands in the audit before and after', async () => {
    expect(await hold('acme-crm', personOf(['acme']))).toEqual({ applied: true });
    expect(commands).toEqual([{ command: 'hold', destination: 'acme-crm', by: 'olga', reason: 'their change' }]);
    expect(audited).toMatchObject([
      { person: 'olga', action: 'delivery.hold', organization: 'acme' },
      { person: 'olga', action: 'delivery.hold.answer', organization: 'acme' },
    ]);
  });

  it('passes on which hold was seen, and is refused where it is another by now', async () => {
    const release = () => desk.command({ destination: 'shared', command: 'release', reason: 'mended', since: asOf }, everywhere);
    await release();
    expect(commandRequest.parse(commands[0])).toMatchObject({ command: 'release', since: asOf });
    outdated = true;
    expect(await status(release())).toBe(409);
    expect(audited.at(-1)).toMatchObject({ action: 'delivery.release.answer' });
  });

  it('names the person whole, and no organization where several use the destination', async () => {
    const subject = `https://sign-in.example.test/${'u'.repeat(170)}`;
    await hold('shared', personOf('*', subject));
    expect(commandRequest.parse(commands[0])).toMatchObject({ by: subject });
    expect(audited).toMatchObject([
      { person: subject, organization: null },
      { person: subject, organization: null },
    ]);
  });

  it.each([
    ['shared', ['acme'], 403],
    ['acme-crm', ['birch'], 404],
    ['elsewhere', ['acme'], 404],
  ] as const)('%s is refused to somebody of %j with %d, and nothing is sent', async (destination, organizations, expected) => {
    expect(await status(hold(destination, personOf(organizations)))).toBe(expected);
    expect(commands).toEqual([]);
    expect(audited).toEqual([]);
  });
});

describe('a test', () => {
  it('goes through intake to the one destination, as a lead that the person may follow', async () => {
    expect(await desk.test('acme-crm', personOf(['acme']))).toEqual({ event_id: 'e-1', organization: 'acme' });
    expect(posted).toEqual([['/internal/v1/leads:test', { destination: 'acme-crm', organization: 'acme' }]]);
    expect(audited).toMatchObject([
      { action: 'destination.test', organization: 'acme' },
      { action: 'destination.test.answer', organization: 'acme' },
    ]);
  });

  it.each([
    ['shared', ['acme'], 409],
    ['sales', ['acme'], 409],
    ['acme-crm', ['birch'], 404],
    ['constructor', '*', 404],
  ] as const)('of %s is refused to somebody of %j with %d, and no lead is made', async (destination, organizations, expected) => {
    expect(await status(desk.test(destination, personOf(organizations)))).toBe(expected);
    expect(posted).toEqual([]);
    expect(audited).toEqual([]);
  });
});
