import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ConfigError } from './config-error.js';
import { loadAll, loadEnv } from './env.js';
import { baseEnv, databaseEnv, databaseRole, internalEnv, kafkaEnv, registryEnv, timingEnv } from './env-fragments.js';

const schema = z.object({ ...baseEnv, ...databaseEnv, ...kafkaEnv, ...registryEnv, ...internalEnv, ...timingEnv });
const good = {
  DATABASE_URL: 'postgresql://user:secret@127.0.0.1:5432/leads',
  KAFKA_BROKERS: '127.0.0.1:9092, [::1]:9093',
  SCHEMA_REGISTRY_URL: 'http://127.0.0.1:8081/apis/ccompat/v7',
  INTERNAL_PORT: '7310',
};

function problemsOf(env: NodeJS.ProcessEnv) {
  try {
    loadEnv(schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return { paths: error.problems.map(({ path }) => path), text: error.message + JSON.stringify(error) };
    throw error;
  }
  return { paths: [], text: '' };
}

describe('loadEnv', () => {
  it('gives typed values and defaults', () => {
    const env = loadEnv(schema, { ...good, INTERNAL_URLS: '{"intake":"http://127.0.0.1:7310"}', LEASE_MS: '900' });
    expect(env).toMatchObject({
      KAFKA_BROKERS: ['127.0.0.1:9092', '[::1]:9093'],
      INTERNAL_PORT: 7310,
      INTERNAL_HOST: '127.0.0.1',
      INTERNAL_URLS: { intake: 'http://127.0.0.1:7310' },
      LEASE_MS: 900,
      SWEEP_MS: 5_000,
      TRACE_RATIO: 1,
      LOG_LEVEL: 'info',
    });
  });

  it('counts empty text as unset, so that Compose may pass every variable', () => {
    expect(loadEnv(schema, { ...good, OTEL_EXPORTER_OTLP_ENDPOINT: ' ', LOG_LEVEL: '' })).toMatchObject({ LOG_LEVEL: 'info' });
  });

  it('names every problem at once, each with a fix', () => {
    const { paths } = problemsOf({ LOG_LEVEL: 'loud', KAFKA_BROKERS: 'nowhere', TRACE_RATIO: '2', INTERNAL_PORT: 'http' });
    expect(paths.toSorted()).toEqual(['DATABASE_URL', 'INTERNAL_PORT', 'KAFKA_BROKERS', 'LOG_LEVEL', 'SCHEMA_REGISTRY_URL', 'TRACE_RATIO']);
  });

  it.each([
    ['DATABASE_URL', 'mysql://user:hunter2@db/leads'],
    ['DATABASE_ROLE', 'hunter2; drop'],
    ['KAFKA_BROKERS', 'kafka://hunter2'],
    ['SCHEMA_REGISTRY_URL', 'hunter2'],
    ['INTERNAL_URLS', '{"hunter2":'],
    ['INTERNAL_URLS', '["hunter2"]'],
    ['INTERNAL_URLS', '{"intake":"hunter2"}'],
    ['INTERNAL_PORT', '99999hunter2'],
    ['LEASE_MS', '-1hunter2'],
    ['LOG_LEVEL', 'hunter2'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'hunter2:4318'],
    ['KAFKA_SASL_MECHANISM', 'hunter2'],
  ])('never repeats the value of a wrong %s', (name, value) => {
    const { paths, text } = problemsOf({ ...good, [name]: value });
    expect(paths).toEqual([name]);
    expect(text).not.toContain('hunter2');
  });

  it('says of a missing variable that it is missing, of a wrong one what it should be', () => {
    try {
      loadEnv(schema, { ...good, DATABASE_URL: '', INTERNAL_PORT: '0' });
    } catch (error) {
      expect((error as ConfigError).problems).toEqual([
        { path: 'DATABASE_URL', problem: 'is missing', fix: 'Set it to a string' },
        { path: 'INTERNAL_PORT', problem: 'is too small', fix: 'The least is 1' },
      ]);
    }
    expect.assertions(1);
  });
});

describe('loadAll', () => {
  it('collects the problems of every reader', () => {
    const refuse = (path: string) => () => {
      throw new ConfigError([{ path, problem: 'is wrong', fix: 'Correct it' }]);
    };
    expect(() => loadAll(refuse('A'), () => 1, refuse('B'))).toThrow(/2 configuration problems[\s\S]*A: is wrong[\s\S]*B: is wrong/);
    expect(
      loadAll(
        () => 1,
        () => 'two',
      ),
    ).toEqual([1, 'two']);
  });

  it('lets an error through that is not about configuration', () => {
    const broken = () => {
      throw new TypeError('a fault of ours');
    };
    expect(() => loadAll(broken)).toThrow(TypeError);
  });
});

describe('databaseRole', () => {
  it('is made of the service name unless it is configured', () => {
    expect(databaseRole('crm-writer')).toBe('ld_crm_writer');
    expect(databaseRole('crm-writer', 'other')).toBe('other');
  });
});
