import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { kafkaAnswers } from '../infra/kafka.js';
import { registryAnswers } from '../infra/registry.js';
import { testDatabase, testInfra } from './test-database.js';

describe('shared test infrastructure', () => {
  it('has a broker and a registry that answer', async () => {
    const { kafkaBrokers, schemaRegistry } = testInfra();
    const [host, port] = kafkaBrokers.split(':');
    expect(await kafkaAnswers(Number(port), host)).toBe(true);
    expect(await registryAnswers(schemaRegistry)).toBe(true);
  });

  it('gives each caller an empty database of its own and removes it with sessions still open', async () => {
    const [one, two] = await Promise.all([testDatabase('sample'), testDatabase('sample')]);
    expect(one.url).not.toBe(two.url);
    const client = new pg.Client({ connectionString: one.url });
    client.on('error', () => undefined);
    await client.connect();
    const tables = await client.query("select 1 from pg_tables where schemaname not in ('pg_catalog', 'information_schema')");
    expect(tables.rowCount).toBe(0);
    await Promise.all([one.drop(), two.drop()]);
    await expect(client.query('select 1')).rejects.toThrow();
    await client.end().catch(() => undefined);
  });
});
