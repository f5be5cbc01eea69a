import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Discrepancy } from '#delivery';
import { createLogger, type Database, metrics, migrateService } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { openReconcilerDatabase } from '../../../../test/support/reconcile/open-tools.js';
import type { Finding } from '../compare/finding.js';
import { migrations } from '../migrations/index.js';
import { publishOpen } from '../publish-open.js';
import { purgeOld } from '../runs/purge.js';
import { listDiscrepancies } from './list-discrepancies.js';
import { settleDiscrepancies } from './settle-discrepancies.js';
import { type NewCounts, storeFindings } from './store-findings.js';

const destination = 'crm';

describe('findings that are stored', () => {
  let database: TestDatabase;
  let db: Database;
  const begunAt = new Date(0);

  beforeAll(async () => {
    database = await testDatabase('findings');
    await migrateService({ url: database.url, service: 'reconciler', migrations });
    db = await openReconcilerDatabase(database.url);
  });
  afterAll(async () => {
    await db?.close();
    await database?.drop();
  });

  const stored = (findings: Finding[], runId: string = randomUUID()): Promise<NewCounts> =>
    db.transaction((tx) => storeFindings(tx, findings, { destination, runId, begunAt }));
  const finding = (ref: string, fields: string[], version: string): Finding => {
    return {
      class: 'content_conflict',
      aspect: 'human_change',
      kind: 'contact',
      ref,
      eventId: randomUUID(),
      fields,
      evidence: { version },
      atMs: 1,
    };
  };
  const found = async (ref: string): Promise<Discrepancy | undefined> => {
    const { items } = await listDiscrepancies(db, { limit: 100 });
    return items.find((one) => one.ref === ref);
  };
  const accept = async (ref: string): Promise<void> => {
    const { discrepancy_id = '' } = (await found(ref)) ?? {};
    const answer = await settleDiscrepancies(db, { items: [{ discrepancy_id, state: 'accepted', by: 'bob', reason: 'is right there' }] });
    expect(answer.items).toMatchObject([{ settled: true }]);
  };

  it('wait for nobody where a message only came late, and end by themselves a week after they were last seen', async () => {
    const late = (ref: string): Finding => ({ ...finding(ref, [], '1'), class: 'relationship', aspect: 'told_late' });
    await stored([late('late-old'), late('late-new'), { ...late('C-0'), aspect: 'wrong_contact' }]);
    await publishOpen(db, { known: [destination], logger: createLogger('findings-spec', 'silent') })();
    const { values } = await metrics.discrepanciesOpen.get();
    expect(values).toMatchObject([{ labels: { destination, class: 'relationship' }, value: 1 }]);
    await db.sql('test.age', `UPDATE discrepancy SET last_seen_at = clock_now() - interval '8 days' WHERE ref IN ('late-old', 'C-0')`, []);
    await purgeOld(db);
    expect((await found('late-old'))?.state).toBe('gone');
    expect((await found('late-new'))?.state).toBe('open');
    expect((await found('C-0'))?.state).toBe('open');
  });

  it('count as looked for where a destination was compared whole or by schedule, not where a person asked for a part', async () => {
    const ran = (at: string, by: string, form: string | null) =>
      db.sql(
        'test.ran',
        `INSERT INTO run (run_id, destination, from_at, to_at, form, state, by_whom, created_at, finished_at)
         VALUES (gen_random_uuid(), $1, $2, $2, $4, 'finished', $3, $2, $2)`,
        [destination, new Date(at), by, form],
      );
    const publish = publishOpen(db, { known: [destination], logger: createLogger('findings-spec', 'silent') });
    const comparedAt = async () => {
      await publish();
      return (await metrics.reconciledAt.get()).values.find(({ labels }) => labels.destination === destination)?.value;
    };
    const seconds = (at: string) => Date.parse(at) / 1_000;
    await ran('2026-05-01T10:00:00Z', 'schedule', null);
    await ran('2026-05-01T12:00:00Z', 'ada', 'contact');
    expect(await comparedAt()).toBe(seconds('2026-05-01T10:00:00Z'));
    await ran('2026-05-01T11:00:00Z', 'ada', null);
    expect(await comparedAt()).toBe(seconds('2026-05-01T11:00:00Z'));
  });

  it('stay accepted as what they were accepted as', async () => {
    await stored([finding('C-1', ['name', 'phone'], '5')]);
    await accept('C-1');
    const run = randomUUID();
    await stored([finding('C-1', ['phone'], '5')], run);
    expect(await found('C-1')).toMatchObject({ state: 'accepted', fields: ['name', 'phone'], last_run_id: run });
  });

  it('are open again, and counted, where another field differs or the record was changed since', async () => {
    for (const later of [finding('C-2', ['name', 'phone'], '5'), finding('C-2', ['phone'], '6')]) {
      await stored([finding('C-2', ['phone'], '5')]);
      await accept('C-2');
      expect(await stored([later])).toEqual({ content_conflict: 1 });
      expect(await found('C-2')).toMatchObject({ state: 'open', fields: later.fields, evidence: later.evidence });
    }
    expect(await found('C-1')).toMatchObject({ state: 'accepted' });
  });

  it('are those of all leads of a person, in whatever page of a run they come', async () => {
    const run = randomUUID();
    await stored([finding('C-3', ['phone'], '5'), finding('C-3', ['email'], '5')], run);
    expect(await stored([finding('C-3', ['name'], '5')], run)).toEqual({});
    expect(await found('C-3')).toMatchObject({ fields: ['email', 'name', 'phone'] });
    await accept('C-3');
    expect(await stored([finding('C-3', ['name'], '5')])).toEqual({ content_conflict: 1 });
    expect(await stored([finding('C-3', ['phone'], '5')])).toEqual({ content_conflict: 1 });
    expect(await found('C-3')).toMatchObject({ state: 'accepted' });
    await stored([finding('C-3', ['name'], '5')]);
    expect(await found('C-3')).toMatchObject({ state: 'accepted', fields: ['email', 'name', 'phone'] });
  });
});
