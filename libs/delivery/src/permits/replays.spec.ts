import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#runtime';
import { openReplays } from './replays.js';

describe('the way for approved items', () => {
  it('is closed without an operator, and the log says so at once', async () => {
    const lines: string[] = [];
    const logger = createLogger('spec', 'warn', { write: (line) => lines.push(line) });
    const replays = openReplays({ operatorUrl: undefined, token: 'token', secretsDir: 'nowhere', logger });
    expect(replays.gate).toBeUndefined();
    expect(lines.join('')).toContain('INTERNAL_URLS names no operator');
    await replays.close();
  });
});
