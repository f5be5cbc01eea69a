import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Outcome } from '#delivery';
import type { Connector, FoundRecord } from '#destinations';
import { startTryton, type Tryton } from './start-tryton.js';
import { connectTo, contactCall, leadCall } from './tryton-cases.js';
import { trytonGuest, trytonRobot } from './tryton-place.js';

let tryton: Tryton;
const opened: Connector[] = [];
const connect = (...options: Parameters<typeof connectTo> extends [unknown, ...infer Rest] ? Rest : never): Connector => {
  const connector = connectTo(tryton, ...options);
  opened.push(connector);
  return connector;
};

beforeAll(async () => {
  tryton = await startTryton();
}, 400_000);
afterEach(() => Promise.all(opened.splice(0).map((connector) => connector.close())));
afterAll(() => tryton?.stop(), 30_000);

const refOf = (outcome: Outcome): string => ('ref' in outcome && outcome.ref !== undefined ? outcome.ref : fail(outcome));
const fail = (outcome: unknown): never => {
  throw new Error(`no reference in ${JSON.stringify(outcome)}`);
};

interface PartyRow {
  id: number;
  name: string;
  email: string;
  phone: string;
  active: boolean;
}

const partiesOf = (code: string): Promise<PartyRow[]> =>
  tryton.desk.call('party.party.search_read', [
    [
      ['code', '=', code],
      ['active', 'in', [true, false]],
    ],
    0,
    null,
    null,
    ['name', 'email', 'phone', 'active'],
  ]);
const opportunitiesOf = (reference: string): Promise<Record<string, unknown>[]> =>
  tryton.desk.call('sale.opportunity.search_read', [
    [['reference', '=', reference]],
    0,
    null,
    null,
    ['party', 'employee', 'state', 'description', 'comment'],
  ]);
const found = async (connector: Connector, kind: string, keys: string[]): Promise<FoundRecord[]> => {
  const answer = await connector.readMany?.({ kind, keys, timeoutMs: 10_000 });
  return answer?.ok ? answer.records : fail(answer);
};
/** Id of a party's telephone number. */
const phoneOf = async (party: string | undefined): Promise<number | undefined> => {
  const phones = [
    ['party', '=', Number(party)],
    ['type', '=', 'phone'],
  ];
  return (await tryton.desk.call<number[]>('party.contact_mechanism.search', [phones, 0, null, null]))[0];
};
/** References of all that was made or changed since, over as many pages as there are. */
async function changedRefs(connector: Connector, query: { kind: string; from: Date; limit: number }): Promise<string[]> {
  const refs: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await connector.changedSince?.({ ...query, to: new Date(Date.now() + 60_000), cursor, timeoutMs: 10_000 });
    if (!page?.ok) return fail(page);
    refs.push(...page.records.map((one) => one.ref));
    cursor = page.next;
    if (cursor === undefined) return refs;
  }
}
const personOf = (call: ReturnType<typeof contactCall>): string => call.payload.person_key;

describe('a person', () => {
  it('becomes one party with e-mail and phone', async () => {
    const call = contactCall({ email: 'one@example.test' });
    const outcome = await connect().perform(call);
    expect(outcome).toMatchObject({ kind: 'succeeded', requestHash: expect.any(String), mappingVersion: 1 });
    expect(await partiesOf(personOf(call))).toMatchObject([
      { id: Number(refOf(outcome)), name: 'Ada Lovelace', email: 'one@example.test', phone: '+12025550101' },
    ]);
  });

  it('stays one party when the same call is repeated', async () => {
    const call = contactCall();
    const connector = connect();
    const refs = [await connector.perform(call), await connector.perform(call)].map(refOf);
    expect(refs[1]).toBe(refs[0]);
    expect(await partiesOf(personOf(call))).toHaveLength(1);
    expect(await tryton.sql('select id from party_contact_mechanism where party = $1', [refs[0]])).toHaveLength(2);
  });

  it('is made once by eight calls at the same moment, and all of them know it', async () => {
    const call = contactCall();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => connect().perform(call)));
    expect(new Set(outcomes.map(refOf)).size).toBe(1);
    expect(await partiesOf(personOf(call))).toHaveLength(1);
  });

  it('gets the phone of a newer submission, and keeps what that left empty', async () => {
    const connector = connect();
    const first = contactCall({ person: 'newer', email: 'newer@example.test' });
    const ref = refOf(await connector.perform(first));
    const second = contactCall({ person: 'newer', name: '', email: '', phone: '+12025550177' });
    expect(refOf(await connector.perform({ ...second, contact: { ref, newer: [] } }))).toBe(ref);
    expect(await partiesOf(personOf(first))).toMatchObject([{ name: 'Ada Lovelace', email: 'newer@example.test', phone: '+12025550177' }]);
  });

  it('keeps what a newer submission wrote when an older one comes late', async () => {
    const connector = connect();
    const ref = refOf(await connector.perform(contactCall({ person: 'late', phone: '+12025550188' })));
    const late = contactCall({ person: 'late', name: 'Ada L.', phone: '+12025550111' });
    await connector.perform({ ...late, contact: { ref, newer: ['phone'] } });
    expect(await partiesOf(personOf(late))).toMatchObject([{ name: 'Ada L.', phone: '+12025550188' }]);
  });

  it('is found again behind a party that was put away, and behind one that was merged', async () => {
    const connector = connect();
    const call = contactCall();
    const ref = Number(refOf(await connector.perform(call)));
    await tryton.desk.call('party.party.write', [[ref], { active: false }]);
    expect(refOf(await connector.perform(call))).toBe(String(ref));
    const other = Number(refOf(await connector.perform(contactCall())));
    await tryton.sql('update party_party set replaced_by = $1 where id = $2', [other, ref]);
    expect(refOf(await connector.perform({ ...call, contact: { ref: String(ref), newer: [] } }))).toBe(String(other));
    const merged = { ref: String(other), key: personOf(call), mergedRefs: [String(ref)] };
    expect(await found(connector, 'contact', [personOf(call)])).toMatchObject([merged]);
    expect(await connector.readMany?.({ kind: 'contact', refs: [String(ref)], timeoutMs: 20_000 })).toMatchObject({ records: [merged] });
  });

  it('is made anew where the party was deleted', async () => {
    const connector = connect();
    const call = contactCall();
    const ref = refOf(await connector.perform(call));
    await tryton.admin.call('party.party.delete', [[Number(ref)]]);
    const again = await connector.perform({ ...call, contact: { ref, newer: [] } });
    expect(refOf(again)).not.toBe(ref);
    expect(await partiesOf(personOf(call))).toHaveLength(1);
  });

  it('is written over a change that somebody made at the same moment, without losing it', async () => {
    const call = contactCall({ phone: '+12025550150' });
    const ref = refOf(await connect().perform(call));
    const writers = Array.from({ length: 6 }, (_, n) =>
      connect().perform({
        ...contactCall({ phone: `+1202555016${n}` }),
        payload: { ...call.payload, contact: { phone: `+1202555016${n}` } },
        contact: { ref, newer: [] },
      }),
    );
    const outcomes = await Promise.all(writers);
    expect(outcomes.every(({ kind }) => kind === 'succeeded' || kind === 'transient')).toBe(true);
    expect(await tryton.sql("select id from party_contact_mechanism where party = $1 and type = 'phone'", [ref])).toHaveLength(1);
  });

  it('whose number somebody has changed since it was compared is left as it is, also where only the number was touched', async () => {
    const connector = connect();
    const first = contactCall({ person: 'compared', phone: '+12025550140' });
    const ref = refOf(await connector.perform(first));
    const repair = (phone: string, version?: string) =>
      connector.perform({ ...contactCall({ person: 'compared', phone }), contact: { ref, newer: [] }, compared: { version } });
    const version = async () => (await found(connector, 'contact', [personOf(first)]))[0]?.version;
    const before = await version();
    expect(await repair('+12025550141', before)).toMatchObject({ kind: 'succeeded', ref });
    const approved = await version();
    expect(approved).not.toBe(before);
    await tryton.desk.call('party.contact_mechanism.write', [[await phoneOf(ref)], { value: '+12025550142' }]);
    expect(await repair('+12025550143', approved)).toMatchObject({ kind: 'permanent', class: 'conflict', code: 'changed_by_person' });
    expect(await partiesOf(personOf(first))).toMatchObject([{ phone: '+12025550142' }]);
    expect(await found(connector, 'contact', [personOf(first)])).toMatchObject([{ changedBy: 'other' }]);
  });

  it('whose protected field a form carries is refused before anything is sent', async () => {
    const call = contactCall();
    expect(await connect({ protected_fields: ['phone'] }).perform(call)).toMatchObject({
      kind: 'permanent',
      class: 'protected_field',
      code: 'phone',
    });
    expect(await partiesOf(personOf(call))).toEqual([]);
  });
});

describe('an enquiry', () => {
  it('becomes an opportunity of its own, with the employee that its owner is', async () => {
    const connector = connect();
    const person = contactCall({ person: 'twice', message: 'Please call me' });
    const party = refOf(await connector.perform(person));
    const second = contactCall({ person: 'twice', form: 'demo' });
    const refs = [await connector.perform(leadCall(person, party)), await connector.perform(leadCall(second, party))].map(refOf);
    expect(new Set(refs).size).toBe(2);
    expect(await opportunitiesOf(person.event.event_id)).toMatchObject([
      { id: Number(refs[0]), party: Number(party), employee: tryton.employees.ada, state: 'lead', description: 'Contact form / Spring' },
    ]);
    expect(await opportunitiesOf(second.event.event_id)).toMatchObject([{ employee: tryton.employees.grace }]);
  });

  it('is looked up by its reference: absent, found, several', async () => {
    const connector = connect();
    const person = contactCall();
    const party = refOf(await connector.perform(person));
    const query = { kind: 'lead', eventId: person.event.event_id, timeoutMs: 10_000 };
    expect(await connector.lookup(query)).toEqual({ kind: 'absent' });
    const refs = [await connector.perform(leadCall(person, party)), await connector.perform(leadCall(person, party))].map(refOf);
    expect(await connector.lookup(query)).toEqual({ kind: 'several', refs });
    await tryton.desk
      .call('sale.opportunity.delete', [[Number(refs[1])]])
      .catch(() => tryton.sql('delete from sale_opportunity where id = $1', [refs[1]]));
    expect(await connector.lookup(query)).toEqual({ kind: 'found', ref: refs[0] });
    const personQuery = { ...query, kind: 'contact', personKey: personOf(person) };
    expect(await connector.lookup(personQuery)).toEqual({ kind: 'found', ref: party });
  });

  it('that had been made is mended where something is missing, and what a person changed stays', async () => {
    const connector = connect();
    const person = contactCall();
    const lead = leadCall(person, refOf(await connector.perform(person)));
    const ref = refOf(await connector.perform(lead));
    await tryton.desk.call('sale.opportunity.write', [[Number(ref)], { employee: null, description: 'Big one' }]);
    expect(refOf(await connector.perform({ ...lead, refs: { ...lead.refs, lead: ref } }))).toBe(ref);
    expect(await opportunitiesOf(person.event.event_id)).toMatchObject([{ employee: tryton.employees.ada, description: 'Big one' }]);
  });
});

describe('sessions', () => {
  it('are one for all calls at once, and renewed once where the server does not take them any more', async () => {
    const connector = connect();
    const before = await tryton.sql<{ count: number }>('select count(*)::int as count from ir_session');
    const lookup = () => connector.lookup({ kind: 'lead', eventId: 'none', timeoutMs: 10_000 });
    expect(await Promise.all(Array.from({ length: 6 }, lookup))).toEqual(Array.from({ length: 6 }, () => ({ kind: 'absent' })));
    expect(await tryton.sql('select count(*)::int as count from ir_session')).toEqual([{ count: (before[0]?.count ?? 0) + 1 }]);
    await tryton.sql('delete from ir_session where create_uid = (select id from res_user where login = $1)', [trytonRobot.user]);
    expect(await Promise.all(Array.from({ length: 6 }, lookup))).toEqual(Array.from({ length: 6 }, () => ({ kind: 'absent' })));
    const after = await tryton.sql<{ count: number }>(
      'select count(*)::int as count from ir_session where create_uid = (select id from res_user where login = $1)',
      [trytonRobot.user],
    );
    expect(after).toEqual([{ count: 1 }]);
  });

  it('of a wrong password are refused as ours, and not asked for again at once', async () => {
    const connector = connect({ user: { user: 'nobody', password: 'wrong' } });
    for (let calls = 0; calls < 8; calls += 1) {
      expect(await connector.perform(contactCall())).toMatchObject({ kind: 'auth', code: 'login_refused' });
    }
    expect(await tryton.sql("select id from res_user_login_attempt where login = 'nobody'")).toHaveLength(1);
  });

  it('of a user who tried too often are limited, without saying for how long', async () => {
    await tryton.sql("insert into res_user_login_attempt (login, create_date) select 'robot-2', now() from generate_series(1, 9)");
    const outcome = await connect({ user: { user: 'robot-2', password: 'wrong' } }).perform(contactCall());
    expect(outcome).toMatchObject({ kind: 'throttled', code: 'http_429', afterMs: undefined });
  });
});

describe('answers', () => {
  it('of a user without rights concern the credentials', async () => {
    const connector = connect({ user: trytonGuest });
    const person = contactCall();
    const party = refOf(await connector.perform(person));
    expect(await connector.perform(leadCall(person, party))).toMatchObject({ kind: 'auth', code: 'not_allowed' });
    expect(await connector.check?.()).toEqual({ ok: false, code: 'not_allowed' });
    expect(await connect().check?.()).toEqual({ ok: true });
  });

  it('of another database, of nobody, and of a party that is not there are told apart', async () => {
    expect(await connect({ tryton: { database: 'no_such', user: 'x' } }).perform(contactCall())).toMatchObject({
      kind: 'auth',
      code: 'no_such_database',
    });
    expect(await connect({ url: 'http://127.0.0.1:1' }).perform(contactCall())).toMatchObject({
      kind: 'transient',
      provablyNotExecuted: true,
    });
    const orphan = await connect().perform(leadCall(contactCall(), '999999'));
    expect(orphan.kind).not.toBe('succeeded');
    expect(await connect().perform({ ...contactCall(), pinned: { requestHash: 'another' } })).toMatchObject({
      kind: 'permanent',
      code: 'request_changed',
    });
  });
});

describe('reading', () => {
  it('shows what was expected, by keys and by references', async () => {
    const connector = connect();
    const person = contactCall({ email: 'Same@EXAMPLE.test', phone: '+12025550199;ext=5' });
    const party = refOf(await connector.perform(person));
    const lead = leadCall(person, party);
    const ref = refOf(await connector.perform(lead));
    const [contact] = await found(connector, 'contact', [personOf(person), 'f'.repeat(32)]);
    expect(contact).toMatchObject({
      ref: party,
      key: personOf(person),
      changedBy: 'us',
      ...connector.expected?.(person),
    });
    const byRef = await connector.readMany?.({ kind: 'lead', refs: [ref], timeoutMs: 10_000 });
    expect(byRef).toMatchObject({
      ok: true,
      records: [{ ref, key: person.event.event_id, changedBy: 'us', status: 'lead', ...connector.expected?.(lead) }],
    });
    expect(connector.expected?.(lead)?.links).toEqual({ contact: party, owner: String(tryton.employees.ada) });
  });

  it('says who changed a number last, also where the party itself was not touched', async () => {
    const connector = connect();
    const person = contactCall();
    await connector.perform(person);
    const [before] = await found(connector, 'contact', [personOf(person)]);
    await tryton.desk.call('party.contact_mechanism.write', [[await phoneOf(before?.ref)], { value: '+12025550122' }]);
    const [after] = await found(connector, 'contact', [personOf(person)]);
    expect(after).toMatchObject({ changedBy: 'other', fields: { phone: '+12025550122' } });
    expect((after?.version ?? '') > (before?.version ?? '')).toBe(true);
  });

  it('pages through what was made or changed in a time, each once', async () => {
    const connector = connect();
    const old = contactCall();
    const party = refOf(await connector.perform(old));
    const ref = refOf(await connector.perform(leadCall(old, party)));
    await tryton.sql("update sale_opportunity set create_date = create_date - interval '1 day' where id = $1", [ref]);
    const from = new Date((await tryton.sql<{ now: Date }>('select now() as now'))[0]?.now ?? 0);
    const lookAt = (limit: number) => changedRefs(connector, { kind: 'lead', from, limit });
    expect(await lookAt(10)).toEqual([]);
    const leads = await Promise.all(Array.from({ length: 3 }, async () => connector.perform(leadCall(contactCall(), party))));
    await tryton.desk.call('sale.opportunity.write', [[Number(ref)], { comment: 'called' }]);
    expect(await lookAt(2)).toEqual([ref, ...leads.map(refOf)].sort((a, b) => Number(a) - Number(b)));
  });

  it('lists a person once where the desk has changed numbers alone', async () => {
    const connector = connect();
    const party = refOf(await connector.perform(contactCall()));
    const dayEarlier = "create_date = create_date - interval '1 day', write_date = write_date - interval '1 day'";
    await tryton.sql(`update party_party set ${dayEarlier} where id = $1`, [party]);
    await tryton.sql(`update party_contact_mechanism set ${dayEarlier} where party = $1`, [party]);
    const from = new Date((await tryton.sql<{ now: Date }>('select now() as now'))[0]?.now ?? 0);
    const lookAt = (limit: number) => changedRefs(connector, { kind: 'contact', from, limit });
    const untouched = await tryton.sql('select write_date from party_party where id = $1', [party]);
    expect(await lookAt(10)).toEqual([]);
    await tryton.desk.call('party.contact_mechanism.write', [[await phoneOf(party)], { value: '+12025550123' }]);
    expect(await lookAt(10)).toEqual([party]);
    const second = [{ party: Number(party), type: 'phone', value: '+12025550124' }];
    await tryton.desk.call('party.contact_mechanism.create', [second]);
    expect(await lookAt(1)).toEqual([party]);
    expect(await tryton.sql('select write_date from party_party where id = $1', [party])).toEqual(untouched);
  });
});
