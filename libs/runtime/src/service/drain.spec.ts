import { describe, expect, it } from '@jest/globals';
import { createLogger } from '../logging/logger.js';
import { drain } from './drain.js';

const logger = createLogger('spec', 'silent');

describe('drain', () => {
  it('stops the part that was started last first, each after the one before', async () => {
    const order: string[] = [];
    const part = (name: string) => ({
      name,
      stop: async () => {
        order.push(`${name} stops`);
        await new Promise((resolve) => setImmediate(resolve));
        order.push(`${name} stopped`);
      },
    });
    expect(await drain(['pool', 'server', 'consumer'].map(part), { logger, drainMs: 5_000 })).toBe(true);
    expect(order).toEqual(['consumer stops', 'consumer stopped', 'server stops', 'server stopped', 'pool stops', 'pool stopped']);
  });

  it('goes on after a part that fails, and says that it was not clean', async () => {
    const stopped: string[] = [];
    const parts = [
      { name: 'pool', stop: () => void stopped.push('pool') },
      { name: 'consumer', stop: () => Promise.reject(new Error('gone')) },
    ];
    expect(await drain(parts, { logger, drainMs: 5_000 })).toBe(false);
    expect(stopped).toEqual(['pool']);
  });

  it('gives up on a part that hangs, and names it', async () => {
    const lines: string[] = [];
    const noting = createLogger('spec', 'info', { write: (line) => lines.push(line) });
    expect(await drain([{ name: 'consumer', stop: () => new Promise(() => {}) }], { logger: noting, drainMs: 10 })).toBe(false);
    expect(JSON.parse(lines[0] ?? '{}')).toMatchObject({ part: 'consumer', level: 'error' });
  });
});
