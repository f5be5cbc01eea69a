import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Discrepancy } from '#delivery';
import { type Database, migrateService } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { openReconcilerDatabase } from '../../../../test/support/reconcile/open-tools.js';
import type { Finding } from '../compare/finding.js';
import { migrations } from '../migrations/index.js';
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
