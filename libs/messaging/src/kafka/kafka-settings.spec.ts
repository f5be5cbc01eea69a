import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '#runtime';
import { kafkaSettings } from './kafka-settings.js';

const brokers = ['127.0.0.1:9092'];

describe('kafkaSettings', () => {
  it('is plain where nothing else is said', () => {
    expect(kafkaSettings({ KAFKA_BROKERS: brokers })).toEqual({ brokers, ssl: undefined, sasl: undefined });
  });

  it('reads the CA file and the SASL account', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'ca-')), 'ca.pem');
    writeFileSync(file, 'pem');
    const env = { KAFKA_SSL_CA_FILE: file, KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p' } as const;
    expect(kafkaSettings({ KAFKA_BROKERS: brokers, ...env })).toEqual({
      brokers,
      ssl: { ca: ['pem'] },
      sasl: { mechanism: 'plain', username: 'u', password: 'p' },
    });
  });

  it('names every missing variable', () => {
    const problems = (env: object): string[] => {
      try {
        kafkaSettings({ KAFKA_BROKERS: brokers, ...env });
        return [];
      } catch (error) {
        return (error as ConfigError).problems.map(({ path }) => path);
      }
    };
    expect(problems({ KAFKA_SASL_MECHANISM: 'plain' })).toEqual(['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD']);
    expect(problems({ KAFKA_SSL_CA_FILE: '/nowhere/ca.pem' })).toEqual(['KAFKA_SSL_CA_FILE']);
    expect(() => kafkaSettings({ KAFKA_BROKERS: brokers, KAFKA_SASL_MECHANISM: 'plain' })).toThrow(ConfigError);
  });
});
