import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it, jest } from '@jest/globals';

jest.setTimeout(60_000);

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Runs a service of the built library in its own process; `start` is the body of its start function. */
function run(start: string, { env = {}, shape = '{}', drainMs = 300 }: { env?: NodeJS.ProcessEnv; shape?: string; drainMs?: number } = {}) {
  const code = `
    import { runService, databaseEnv, siteEnv } from '#runtime';
    await runService({ name: 'spec', env: ${shape}, drainMs: ${drainMs}, async start(context) { ${start} } });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { env: { PATH: process.env.PATH, ...env } });
  children.push(child);
  let output = '';
  const watchers: (() => void)[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      for (const look of watchers) look();
    });
  }
  const printed = (part: string) =>
    new Promise<void>((resolve) => {
      const look = () => output.includes(part) && resolve();
      watchers.push(look);
      look();
    });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  return { child, printed, ended };
}

describe('a service', () => {
  it('stops its parts in reverse order on SIGTERM and exits 0', async () => {
    const service = run(`
      return ['pool', 'consumer'].map((name) => ({ name, stop: () => context.logger.info({ part: name }, 'stopped part') }));`);
    await service.printed('"msg":"Started"');
    service.child.kill('SIGTERM');
    const { code, output } = await service.ended;
    expect(code).toBe(0);
    const stopped = [...output.matchAll(/"part":"(\w+)","msg":"stopped part"/g)].map(([, part]) => part);
    expect(stopped).toEqual(['consumer', 'pool']);
  });

  it('exits 1 at once on a second signal', async () => {
    const service = run(`return [{ name: 'stuck', stop: () => new Promise(() => {}) }];`, { drainMs: 600_000 });
    await service.printed('"msg":"Started"');
    service.child.kill('SIGINT');
    await service.printed('"msg":"Stopping"');
    service.child.kill('SIGINT');
    expect((await service.ended).code).toBe(1);
  });

  it('exits 1 when a part does not stop in time', async () => {
    const service = run(`return [{ name: 'stuck', stop: () => new Promise(() => {}) }];`);
    await service.printed('"msg":"Started"');
    service.child.kill('SIGTERM');
    const { code, output } = await service.ended;
    expect(code).toBe(1);
    expect(output).toContain('A part did not stop in time');
  });

  it('names every problem of its configuration on standard error, exits 2 and starts nothing', async () => {
    const { code, output } = await run(`console.log('started');`, {
      shape: '{ ...databaseEnv, ...siteEnv }',
      env: { LOG_LEVEL: 'loud', LD_SITE_FILE: '/nowhere/site.yaml' },
    }).ended;
    expect(code).toBe(2);
    for (const name of ['LOG_LEVEL', 'DATABASE_URL', 'LD_SECRETS_DIR', '/nowhere/site.yaml']) expect(output).toContain(name);
    expect(output).not.toContain('started');
    expect(output).not.toContain('loud');
  });

  it.each([
    [
      'an exception',
      `setImmediate(() => { throw Object.assign(new Error('ada@example.test'), { lead: 'ada@example.test' }); }); return [];`,
    ],
    ['a rejection', `Promise.reject(Object.assign(new Error('ada@example.test'), { code: '23505' })); return [];`],
    ['a rejection that is no error', `Promise.reject('ada@example.test'); return [];`],
    ['a failing start', `throw new Error('ada@example.test');`],
  ])('prints nothing of the content of %s, and exits 1', async (_, start) => {
    const { code, output } = await run(start).ended;
    expect(code).toBe(1);
    expect(output).toMatch(/"level":"fatal".*"msg":"(Uncaught error|Start failed)"/);
    expect(output).not.toContain('ada@');
  });
});
