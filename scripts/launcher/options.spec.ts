import { describe, expect, it, jest } from '@jest/globals';
import { runDirOption, runDirOrEnd, startOptions, UsageError } from './options.js';

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

  it('of npm stop end the process with the usage where they are wrong', () => {
    const argv = process.argv;
    process.argv = ['node', 'stop.js', '--colour'];
    const said = jest.spyOn(console, 'error').mockReturnValue(undefined);
    const ended = jest.spyOn(process, 'exit').mockImplementation((code) => {
      throw new Error(`ended with ${String(code)}`);
    });
    expect(() => runDirOrEnd()).toThrow('ended with 2');
    expect(said.mock.calls.join('\n')).toMatch(/--colour[\s\S]*--run-dir DIR/);
    process.argv = argv;
    ended.mockRestore();
  });
});
