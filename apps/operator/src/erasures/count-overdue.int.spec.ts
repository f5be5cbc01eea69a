import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { v7 } from 'uuid';
import { type Database, metrics } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { personOf } from '../../test/replay-rig.js';
import { openOperatorDatabase, silent } from '../../test/rig.js';
import { publish } from '../figures.js';
import { overdueTasks, taskDueDays } from './count-overdue.js';
import { addTasks } from './erasure-row.js';
import { finishTask } from './finish-task.js';
import { showErasure } from './show-erasure.js';

const person = personOf('author');

describe('the number of overdue tasks of erasures', () => {
  let database: TestDatabase;
  let db: Database;

  beforeAll(async () => {
    database = await testDatabase('operator_overdue_tasks');
    db = await openOperatorDatabase(database.url);
  });
  afterAll(async () => {
    await db?.close();
    await database?.drop();
  });
  afterEach(async () => {
    await db.sql('rig.clear_erasures', 'DELETE FROM erasure', []);
    await db.sql('rig.clear_tasks', 'DELETE FROM erasure_task', []);
  });

  /** @param state and how long ago it was approved; a draft was not */
  const erasure = async (state: string, approvedDaysAgo: number, references: readonly { destination: string; ref: string }[]) => {
    const id = v7();
    await db.sql(
      'rig.erasure',
      `INSERT INTO erasure (erasure_id, state, kind, subject_keys, organizations, more, hash, author, reason, created_at, expires_at, approved_at)
       VALUES ($1, $2, 'email', '[]', '{demo}', false, 'h', 'author', 'asked by letter', clock_now(), clock_now() + interval '1 day',
         CASE WHEN $2 <> 'draft' THEN clock_now() - $3::float8 * interval '1 day' END)`,
      [id, state, approvedDaysAgo],
    );
    const tasks = references.map((one) => ({ service: 'crm-writer' as const, kind: 'contact' as const, ...one }));
    await addTasks(db, id, tasks);
    return id;
  };
  const counted = async () => {
    await publish(overdueTasks, db, silent)();
    return (await metrics.erasureTasksOverdue.get()).values.map(({ labels, value }) => [labels.destination, value]).sort();
  };
  const crm = (ref: string) => ({ destination: 'crm', ref });

  it('has those of approved erasures that are open past their time, by destination', async () => {
    await erasure('tasks', taskDueDays + 0.1, [crm('C-1'), crm('C-2'), { destination: 'marketing', ref: 'M-1' }]);
    await erasure('running', taskDueDays + 0.1, [crm('C-3'), { destination: 'lead/chat/4f2a', ref: '17' }]);
    await erasure('tasks', taskDueDays - 0.1, [crm('C-4')]);
    await erasure('draft', 0, [crm('C-5')]);
    expect(await counted()).toEqual([
      ['crm', 3],
      ['marketing', 1],
      ['notification', 1],
    ]);
  });

  it('falls with each record that somebody says is deleted', async () => {
    const id = await erasure('tasks', 30, [crm('C-1'), crm('C-2')]);
    const { tasks } = await showErasure(db, id, person);
    const [first, second] = tasks.map(({ task_id }) => task_id);
    await finishTask(db, { erasureId: id, taskId: first ?? '' }, person);
    expect(await counted()).toEqual([['crm', 1]]);
    await finishTask(db, { erasureId: id, taskId: second ?? '' }, person);
    expect(await counted()).toEqual([]);
  });
});
