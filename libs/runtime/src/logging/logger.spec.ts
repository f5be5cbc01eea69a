import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ConfigError } from '../config/config-error.js';
import { StatementFailed } from '../database/database-errors.js';
import { frameworkLogger } from './framework-logger.js';
import type { LogFields } from './log-fields.js';
import { createLogger, type LogLevel } from './logger.js';

const secret = 'ada@example.test';

function collecting(level: LogLevel = 'debug') {
  const lines: string[] = [];
  const logger = createLogger('intake', level, { write: (line) => lines.push(line) });
  return { logger, text: () => lines.join(''), lines: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('a logger', () => {
  it('writes one JSON line with level, time, service and the fields of the table', () => {
    const { logger, lines } = collecting();
    logger.unit({ event_id: 'e1', destination: 'crm', attempt: 2, duration_ms: 12.5, offset: 12n, topics: ['a', 'b'], test: false });
    expect(lines()).toEqual([
      expect.objectContaining({
        level: 'info',
        service: 'intake',
        msg: 'unit',
        event_id: 'e1',
        attempt: 2,
        duration_ms: 12.5,
        offset: '12',
        topics: ['a', 'b'],
        test: false,
      }),
    ]);
    expect(Number.isNaN(Date.parse(String(lines()[0]?.time)))).toBe(false);
  });

  it('drops a field that the table does not name, and says how many', () => {
    const { logger, lines, text } = collecting();
    logger.info({ event_id: 'e1', email: secret, contact: { email: secret } } as LogFields, 'Accepted');
    expect(lines()[0]).toMatchObject({ event_id: 'e1', dropped_fields: 2 });
    expect(text()).not.toContain(secret);
  });

  it('writes no object under an allowed name, since it may hold anything', () => {
    const { logger, text } = collecting();
    logger.info({ reason: { email: secret }, detail: [[secret], { email: secret }] } as unknown as LogFields, 'Accepted');
    expect(text()).not.toContain(secret);
  });

  it('keeps the fields of a child on each line', () => {
    const { logger, lines } = collecting();
    logger.child({ group: 'intake' }).warn({ count: 1 }, 'Paused');
    expect(lines()[0]).toMatchObject({ group: 'intake', count: 1, level: 'warn' });
  });

  it('writes nothing below its level', () => {
    const { logger, lines } = collecting('warn');
    logger.info('quiet');
    logger.unit({ event_id: 'e1' });
    logger.error('loud');
    expect(lines().map(({ msg }) => msg)).toEqual(['loud']);
  });
});

describe('an error in the log', () => {
  const failing = () => Object.assign(new Error(`Key (email)=(${secret}) exists`), { code: '23505', detail: secret, parameters: [secret] });

  it('keeps name, code and frames, and neither message nor properties', () => {
    const { logger, lines, text } = collecting();
    logger.error({ err: failing() }, 'Failed');
    const err = lines()[0]?.err as { name: string; code: string; stack: string };
    expect(err).toMatchObject({ name: 'Error', code: '23505' });
    expect(err.stack).toMatch(/^at .*logger\.spec/);
    expect(text()).not.toContain(secret);
  });

  it('keeps the message of errors of ours', () => {
    const { logger, text } = collecting();
    logger.error({ err: new ConfigError([{ path: 'DATABASE_URL', problem: 'is missing', fix: 'Set it' }]) }, 'Failed');
    logger.error({ err: new StatementFailed({ code: '42P01', statement: 'claim' }, 'relation "x" does not exist') }, 'Failed');
    expect(text()).toContain('DATABASE_URL: is missing');
    expect(text()).toContain('claim');
  });

  it('is cleaned through its causes, and ends when they go in circles', () => {
    const { logger, lines, text } = collecting();
    const outer = new TypeError('outer', { cause: failing() });
    (outer.cause as Error).cause = outer;
    logger.error({ err: outer }, 'Failed');
    expect(lines()[0]?.err).toMatchObject({ name: 'TypeError', cause: { code: '23505', cause: { name: 'TypeError' } } });
    expect(text()).not.toContain(secret);
  });

  it('shows nothing of a message that looks like frames', () => {
    const { logger, text } = collecting();
    for (const frame of [secret, `read (/${secret}:1:2)`, `/${secret}:1:2`])
      logger.error({ err: new Error(`first\n    at ${frame}\nlast`) }, 'Failed');
    expect(text()).not.toContain(secret);
  });

  it('that is no error at all is named by its type', () => {
    const { logger, lines, text } = collecting();
    for (const thrown of [secret, undefined, null, 7, { name: secret, code: secret }]) logger.error({ err: thrown }, 'Failed');
    expect(text()).not.toContain(secret);
    expect(lines()).toHaveLength(5);
  });

  it('never shows its message, whatever that is', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 6 }), (message) => {
        const { logger, lines } = collecting();
        logger.error({ err: new Error(message) }, 'Failed');
        expect(Object.keys(lines()[0]?.err as object)).toEqual(['name', 'stack']);
        const { stack } = lines().map(({ err }) => err as { stack: string })[0] ?? { stack: '' };
        expect(stack.split('\n').every((line) => /^at .+:\d+:\d+\)?$/.test(line))).toBe(true);
      }),
    );
  });
});

describe('the logger for a framework', () => {
  it('keeps the component and the reduced error, and no text', () => {
    const { logger, lines, text } = collecting();
    const framework = frameworkLogger(logger);
    framework.error(new Error(secret), 'stack', 'ExceptionsHandler');
    framework.warn(`Something about ${secret}`, 'Router');
    framework.log('Nest application successfully started', 'NestApplication');
    expect(lines().map(({ level, component }) => [level, component])).toEqual([
      ['error', 'ExceptionsHandler'],
      ['warn', 'Router'],
      ['debug', 'NestApplication'],
    ]);
    expect(text()).not.toContain(secret);
  });
});
