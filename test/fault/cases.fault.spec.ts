import { afterAll, beforeAll, expect, it } from '@jest/globals';
import avsc from 'avsc';
import { LeadSubmittedEvent } from '#contracts';
import { pause, testSize } from '#testkit';
import { runBalance } from '../support/balance.js';
import { eventually } from '../support/eventually.js';
import { LeadFlood } from '../support/lead-flood.js';
import { OpenWorkReader } from '../support/open-work.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';
import { leadBody, submitted } from '../support/traffic.js';

/** Reported faults that need the whole stack; the others have their test beside the part that could have them. */
let open: OpenStack;
let work: OpenWorkReader;

const awayMs = testSize() === 'long' ? 120_000 : 10_000;
/** For leads whose calls were made again once or twice. */
const settleMs = testSize() === 'long' ? 600_000 : 120_000;
const registryAwayMs = testSize() === 'long' ? 180_000 : 8_000;

beforeAll(async () => {
  open = await openStack({ env: { SWEEP_MS: '1000' } });
  work = new OpenWorkReader(open.endpoints());
  await work.connect();
}, 120_000);

afterAll(async () => {
  await work?.close();
  await open?.close();
}, closeMs);

/** Event ids of leads that intake knows by the source's own ids, once it does. */
function accepted(sourceEventIds: readonly string[], timeoutMs = 60_000): Promise<string[]> {
  return Promise.all(
    sourceEventIds.map((id) =>
      eventually(async () => {
        const { status, body } = await open.intake.get(`/v1/leads?source_event_id=${id}`);
        expect(status).toBe(200);
        expect(body.status).toBe('accepted');
        return String(body.event_id);
      }, timeoutMs),
    ),
  );
}

/** Waits until each event has exactly one record in the CRM. */
async function onceInCrm(eventIds: readonly string[], timeoutMs = 60_000): Promise<void> {
  await eventually(async () => {
    const counts = await open.sandbox.leadCounts();
    expect(eventIds.map((id) => counts.get(id) ?? 0)).toEqual(eventIds.map(() => 1));
  }, timeoutMs);
}

const ids = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${prefix}-${n}`);

it('case 3: four bad records among ten on one partition cost six good ones nothing, and each says why', async () => {
  const pids = { ...open.endpoints().pids };
  const good = (n: number) => open.upstream.encode(submitted(`case3-${n}`, n));
  const unknownSchema = Buffer.alloc(9);
  unknownSchema.writeInt32BE(999_999, 1);
  const invalid = open.upstream.encode({ ...submitted('case3-invalid', 0), contact: { name: null, email: 'no at sign', phone: null } });
  const values = [good(0), good(1), Buffer.from([0]), good(2), null, good(3), unknownSchema, good(4), invalid, good(5)];
  await open.upstream.sendRaw(values.map((value) => ({ key: 'case3', value })));

  await onceInCrm(await accepted(ids('case3', 6)));
  await eventually(async () => {
    const reasons = await open.rejectedReasons();
    for (const reason of ['not_avro', 'tombstone', 'unknown_schema', 'invalid_fields']) expect(reasons).toContain(reason);
    expect(await work.lag('intake')).toBe(0);
  });
  expect(open.endpoints().pids).toEqual(pids);
}, 120_000);

it('case 5: fifty leads whose schema nobody knows yet wait for the registry, without one dead letter', async () => {
  const { schemaRegistry } = open.endpoints();
  const schema = JSON.parse(LeadSubmittedEvent.schema) as { fields: object[] };
  const next = { ...schema, fields: [...schema.fields, { name: 'referrer', type: ['null', 'string'], default: null }] };
  const registered = await fetch(`${schemaRegistry}/subjects/leads-value/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: JSON.stringify(next) }),
  });
  const { id } = (await registered.json()) as { id: number };
  const type = avsc.Type.forSchema(next as avsc.Schema);
  const encode = (sourceEventId: string, n: number): Buffer => {
    const frame = Buffer.alloc(5);
    frame.writeInt32BE(id, 1);
    return Buffer.concat([frame, type.toBuffer({ ...submitted(sourceEventId, n), referrer: null })]);
  };
  const refusedBefore = (await open.rejectedReasons()).length;

  await open.stack.stopInfra('registry');
  await open.upstream.sendRaw(ids('case5', 50).map((name, n) => ({ key: name, value: encode(name, n) })));
  await pause(registryAwayMs);
  expect(await work.lag('intake')).toBeGreaterThan(0);
  await open.stack.startInfra('registry');

  await onceInCrm(await accepted(ids('case5', 50), 90_000));
  expect(await open.rejectedReasons()).toHaveLength(refusedBefore);
}, 400_000);

it('case 12: hostile text is in the CRM as it was sent, or refused by name, and costs its neighbours nothing', async () => {
  const texts = [
    `${'a'.repeat(19_999)}😀`,
    '👩‍👩‍👧‍👦 family',
    '\u200fשלום \u202edrow',
    'plain',
    "'); drop table lead; --",
    '{{7*7}} <script>',
  ];
  const contact = (n: number) => ({ name: (texts[n] ?? '').slice(-20).trim(), email: `case12-${n}@example.test`, phone: null });
  const hostile = [{ message: 'A\u0000b' }, { message: '\ud83d' }];
  const posts = [
    ...texts.map((message, n) => ({ ...leadBody(`case12-${n}`, n), contact: contact(n), message })),
    ...hostile.map((text, n) => ({ ...leadBody(`case12-bad-${n}`, n), ...text })),
  ];
  const answers = await Promise.all(posts.map((body) => open.intake.post(body)));
  expect(answers.map(({ status }) => status)).toEqual([...texts.map(() => 202), ...hostile.map(() => 422)]);
  for (const { body } of answers.slice(texts.length)) expect(body).toMatchObject({ errors: [{ field: 'message' }] });

  const eventIds = answers.slice(0, texts.length).map(({ body }) => String(body.event_id));
  await onceInCrm(eventIds);
  const leads = await Promise.all(eventIds.map((id) => open.sandbox.leads(id)));
  expect(leads.map(([lead]) => lead?.message)).toEqual(texts);
  const { contacts } = (await (await fetch(`${open.endpoints().sandboxCrm}/data`)).json()) as {
    contacts: { email: string; name: string }[];
  };
  const names = texts.map((_, n) => contacts.find(({ email }) => email === contact(n).email)?.name);
  expect(names).toEqual(texts.map((_, n) => contact(n).name));
}, 120_000);

it('case 14: every lead posted while the broker is away is accepted, and in the CRM once it is back', async () => {
  const pids = { ...open.endpoints().pids };
  await open.stack.stopInfra('kafka');
  const statuses: number[] = [];
  const eventIds: string[] = [];
  const until = Date.now() + awayMs;
  for (let n = 0; Date.now() < until; n += 1) {
    const { status, body } = await open.intake.post(leadBody(`case14-${n}`, n));
    statuses.push(status);
    eventIds.push(String(body.event_id));
    await pause(50);
  }
  await open.stack.startInfra('kafka');
  expect(new Set(statuses)).toEqual(new Set([202]));
  expect(eventIds.length).toBeGreaterThan(50);
  // The whole backlog comes to the CRM at once: a call that is not answered in time is made again after a backoff of minutes.
  await onceInCrm(eventIds, settleMs);
  expect(open.endpoints().pids).toEqual(pids);
}, 900_000);

it('case 17: four spellings of an address at once are three people by our rule, however late the search of the CRM', async () => {
  await open.sandbox.control({ operation: 'contact', contactUpsert: false, searchLagMs: 5_000 });
  const name = 'Case Seventeen';
  const spellings = ['Ann.Lee@Example.test ', 'ann.lee@example.test', 'ann.lee+ads@example.test', 'annlee@example.test'];
  const answers = await Promise.all(
    spellings.map((email, n) => open.intake.post({ ...leadBody(`case17-${n}`, n), contact: { name, email, phone: null } })),
  );
  await onceInCrm(
    answers.map(({ body }) => String(body.event_id)),
    90_000,
  );
  const answer = await fetch(`${open.endpoints().sandboxCrm}/data`);
  const { contacts } = (await answer.json()) as { contacts: { name: string }[] };
  expect(contacts.filter((contact) => contact.name === name)).toHaveLength(3);
}, 180_000);

it('case 20: services that are told to stop under load finish what they have begun, and lose and double nothing', async () => {
  const flood = new LeadFlood(open.intake, open.upstream, { prefix: 'case20', burst: 40, everyMs: 1_000, intakeDies: true });
  // Calls are open at any moment.
  await open.sandbox.control({ operation: 'lead', latencyMs: 200 });
  flood.start();
  for (const app of ['crm-writer', 'intake', 'notifier']) {
    await eventually(async () => {
      const { claimed, unpublished, uncommitted } = await work.read(app);
      expect(claimed + unpublished + uncommitted).toBeGreaterThan(0);
    }, 60_000);
    await open.stack.kill(app, 'SIGTERM');
    // Nobody else works on these before the launcher has started another.
    expect(await work.read(app)).toMatchObject({ claimed: 0 });
    await open.stack.ready(app);
  }
  await flood.stop();
  await open.sandbox.clearRules();
  expect(flood.refused).toEqual([]);
  const eventIds = [...flood.accepted.values()];
  // Hundreds of questions at once would be a load of their own.
  for (let at = 0; at < flood.produced.length; at += 20) eventIds.push(...(await accepted(flood.produced.slice(at, at + 20))));
  console.log(`case 20: ${eventIds.length} leads accepted`);
  await onceInCrm(eventIds, 120_000);
  await eventually(async () => expect(await runBalance(open.stack.runDir)).toMatchObject({ code: 0 }));
}, 300_000);
