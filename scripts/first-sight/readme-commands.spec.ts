import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { answerOf, readmeCommands } from './readme-commands.js';

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');

describe('the commands of the README', () => {
  it('are cut out of it unchanged: start, the lead by curl, stop', () => {
    const { start, post, stop } = readmeCommands(readme);
    expect(start).toBe('npm start -- --no-samples --detach --run-dir "$RUN"');
    expect(post.split('\n')[0]).toMatch(/^KEY=/);
    expect(post).toContain('curl -i "$URL/v1/leads"');
    expect(readme).toContain(`${start}\n${post}\n\`\`\``);
    expect(stop).toBe('npm stop -- --run-dir "$RUN"');
  });

  it.each(['curl -i', '--detach', 'npm stop'])('are missed by name where the README has no %s', (part) => {
    expect(() => readmeCommands(readme.replaceAll(part, ''))).toThrow(/README\.md has no block/);
  });
});

describe('what curl -i printed', () => {
  it('is status and body', () => {
    expect(answerOf('HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\n\r\n{"event_id":"e"}')).toEqual({
      status: 202,
      body: { event_id: 'e' },
    });
  });

  it('is refused where it is no answer', () => {
    expect(() => answerOf('')).toThrow(/no HTTP answer/);
  });
});
