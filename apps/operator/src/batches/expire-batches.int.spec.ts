import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { v7 } from 'uuid';
import type { Database } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { openOperatorDatabase } from '../../test/rig.js';
import { expireBatches, lateSql } from './expire-batches.js';

describe('batches whose time is over', () => {
  let database: TestDatabase;
  let db: Database;

  beforeAll(async () => {
    database = await testDatabase('operator_late');
    db = await openOperatorDatabase(database.url);
    await db.sql(
      'spec.old_batches',
      `INSERT INTO replay_batch (batch_id, state, maximum, selection, created_at, ended_at, ended_by)
       SELECT gen_random_uuid(), 'finished', 1, '{}', clock_now() - interval '25 days' - n * interval '1 minute', clock_now(), 'runner'
       FROM generate_series(1, 20000) n`,
      [],
    );
    // Autovacuum's part: without it the planner knows nothing of the table.
    await db.sql('spec.analyze', 'ANALYZE replay_batch', []);
  });
  afterAll(async () => {
    await db?.close();
    await database?.drop();
  });

  it('are found without reading those that have ended', async () => {
    const rows = await db.sql<{ 'QUERY PLAN': string }>('spec.plan', `EXPLAIN ${lateSql}`, []);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('replay_batch_unapproved');
    expect(plan).toContain('replay_batch_open');
    expect(plan).not.toContain('Seq Scan on replay_batch');
  });

  it('end, and the others do not', async () => {
    const batch = async (state: string, columns: Record<string, string>) => {
      const id = v7();
      const names = Object.keys(columns);
      await db.sql(
        `spec.batch_of_${names.length}_times`,
        `INSERT INTO replay_batch (batch_id, state, maximum, selection, ${names.join(', ')})
         VALUES ($1, $2, 1, '{}', ${names.map((_, index) => `clock_now() + $${index + 3}::interval`).join(', ')})`,
        [id, state, ...Object.values(columns)],
      );
      return id;
    };
    const late = [
      await batch('draft', { created_at: '-8 days' }),
      await batch('checked', { created_at: '-8 days' }),
      await batch('approved', { approved_at: '-2 hours', approval_expires_at: '-1 hours' }),
      await batch('paused', { approved_at: '-2 hours', began_at: '-2 hours', not_after: '-1 hours' }),
    ];
    const inTime = [
      await batch('draft', { created_at: '-6 days' }),
      await batch('approved', { approved_at: '-2 hours', approval_expires_at: '1 hours' }),
      await batch('paused', { approved_at: '-2 hours', began_at: '-2 hours', approval_expires_at: '-1 hours', not_after: '1 hours' }),
      await batch('running', { approved_at: '-2 hours', began_at: '-2 hours', not_after: '-1 hours' }),
    ];
    await expireBatches(db);
    const expired = await db.sql<{ batch_id: string }>('spec.expired', "SELECT batch_id FROM replay_batch WHERE state = 'expired'", []);
    expect(expired.map(({ batch_id }) => batch_id).toSorted()).toEqual(late.toSorted());
    expect(inTime).toHaveLength(4);
    const audited = await db.sql<{ person: string; subject: object }>(
      'spec.audited',
      "SELECT person, subject FROM audit WHERE action = 'batch.expire' ORDER BY subject->>'batch_id'",
      [],
    );
    const was = ['draft', 'checked', 'approved', 'paused'];
    const wanted = late.map((batch_id, index) => ({ person: 'runner', subject: { batch_id, why: 'approval_expired', was: was[index] } }));
    expect(audited).toEqual(wanted.toSorted((a, b) => (a.subject.batch_id < b.subject.batch_id ? -1 : 1)));
  });
});
