import { describe, expect, it } from '@jest/globals';
import { runDirOption, startOptions, UsageError } from './options.js';

describe('options of npm start', () => {
  it('default to .run, port 7300, the demo site, samples and the foreground', () => {
    expect(startOptions([], '/project')).toEqual({
      runDir: '/project/.run',
      portBase: 7300,
      config: '/project/config/demo.yaml',
      samples: true,
      detach: false,
    });
  });

  it('are all taken from the command line', () => {
    const args = ['--run-dir', '/tmp/one', '--port-base', '9000', '--config', '/tmp/site.yaml', '--no-samples', '--detach'];
    expect(startOptions(args, '/project')).toEqual({
      runDir: '/tmp/one',
      portBase: 9000,
      config: '/tmp/site.yaml',
      samples: false,
      detach: true,
    });
  });

  it.each([[['--port-base', 'many']], [['--port-base', '80']], [['--colour']], [['stray']]])('refuse %j with the usage', (args) => {
    expect(() => startOptions(args, '/project')).toThrow(UsageError);
    expect(() => startOptions(args, '/project')).toThrow(/--run-dir DIR/);
  });

  it('of npm stop name a directory relative to where npm was called', () => {
    const before = process.env.INIT_CWD;
    process.env.INIT_CWD = '/elsewhere';
    expect(runDirOption(['--run-dir', 'one'], '/project')).toBe('/elsewhere/one');
    if (before === undefined) delete process.env.INIT_CWD;
    else process.env.INIT_CWD = before;
  });
});
