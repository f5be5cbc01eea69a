import { describe, expect, it } from '@jest/globals';
import type { Database } from './database.js';
import { databaseReadiness } from './database-readiness.js';

const databaseThat = (sql: () => Promise<unknown[]>): Database => ({ sql }) as never;

describe('the readiness of the database', () => {
  it('is green while it answers', async () => {
    const { name, check } = databaseReadiness(databaseThat(() => Promise.resolve([])));
    expect(name).toBe('database');
    expect(await check()).toEqual({ ok: true });
  });

  it('is red, and says nothing of the error, while it does not', async () => {
    const { check } = databaseReadiness(databaseThat(() => Promise.reject(new Error('connect to db.internal as ld_x'))));
    expect(await check()).toEqual({ ok: false, detail: 'PostgreSQL does not answer' });
  });
});
