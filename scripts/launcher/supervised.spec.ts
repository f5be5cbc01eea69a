import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, isRunning, type Program } from '#testkit';
import { Supervised } from './supervised.js';

let dir: string;
let said: string[];
let child: Supervised | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'supervised-'));
  said = [];
});

afterEach(async () => {
  await child?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** A child that runs this JavaScript; ready once the file `ready` is there. */
function supervise(code: string): Supervised {
  const program: Program = {
    name: 'sample',
    command: process.execPath,
    args: ['-e', code],
    env: { DIR: dir },
    logFile: join(dir, 'sample.log'),
    stopSignal: 'SIGTERM',
    stopGraceMs: 500,
    ready: async () => existsSync(join(dir, 'ready')),
  };
  child = new Supervised(program, {
    say: (line) => said.push(line),
    onChange: () => undefined,
    holdFile: join(dir, 'hold'),
    onceFile: join(dir, 'once'),
  });
  return child;
}

const becomesReady = `require('node:fs').writeFileSync(process.env.DIR + '/ready', ''); setInterval(() => {}, 1000);`;

describe('a supervised child', () => {
  it('is started again with another pid after it was killed', async () => {
    const sample = supervise(becomesReady);
    await sample.start();
    const before = sample.process;
    process.kill(before?.pid ?? -1, 'SIGKILL');
    await eventually('another process', () => sample.process?.pid !== before?.pid && said.includes('sample is ready again'));
    expect(said[0]).toBe('sample ended (signal SIGKILL); starting it again in 0.25 s');
  });

  it('waits longer before each further start', async () => {
    const sample = supervise(becomesReady);
    await sample.start();
    for (let kills = 1; kills <= 3; kills += 1) {
      process.kill(sample.process?.pid ?? -1, 'SIGKILL');
      await eventually('it to be ready again', () => said.filter((line) => line.endsWith('ready again')).length === kills);
    }
    const pauses = said.flatMap((line) => /in ([\d.]+) s$/.exec(line)?.[1] ?? []);
    expect(pauses).toEqual(['0.25', '0.5', '1']);
  });

  it('that ends over and over before it is ready fails the start with its last words', async () => {
    const sample = supervise(`console.error('no database is set'); process.exit(3);`);
    await expect(sample.start()).rejects.toThrow(/sample ended 3 times before it was ready[\s\S]*no database is set/);
  });

  it('is not started again while its hold file exists', async () => {
    const sample = supervise(becomesReady);
    await sample.start();
    const before = sample.process;
    writeFileSync(join(dir, 'hold'), '');
    process.kill(before?.pid ?? -1, 'SIGKILL');
    await eventually('its end to be noticed', () => said.length > 0);
    expect(sample.process).toBe(before);
    rmSync(join(dir, 'hold'));
    await eventually('another process', () => sample.process?.pid !== before?.pid);
  });

  it('gets the variables of its once file for one start and not for the next', async () => {
    const sample = supervise(`console.log('mood ' + process.env.MOOD); ${becomesReady}`);
    const moods = () => readFileSync(join(dir, 'sample.log'), 'utf8').trim().split('\n');
    await sample.start();
    writeFileSync(join(dir, 'once'), JSON.stringify({ MOOD: 'glad' }));
    for (const starts of [2, 3]) {
      process.kill(sample.process?.pid ?? -1, 'SIGKILL');
      await eventually('another start', () => moods().length === starts);
    }
    expect(moods()).toEqual(['mood undefined', 'mood glad', 'mood undefined']);
  });

  it('that ignores the request to end is killed, and not started again', async () => {
    const sample = supervise(`process.on('SIGTERM', () => console.log('asked')); ${becomesReady}`);
    await sample.start();
    await sample.stop();
    const { process: last } = sample;
    expect(last !== undefined && isRunning(last)).toBe(false);
    expect(readFileSync(join(dir, 'sample.log'), 'utf8')).toContain('asked');
    expect(said).toEqual([]);
  });

  it('that is stopped while it starts stays stopped', async () => {
    const sample = supervise('setInterval(() => {}, 1000);');
    const start = sample.start();
    await eventually('a process', () => sample.process !== undefined);
    await sample.stop();
    await expect(start).rejects.toThrow();
    expect(sample.process !== undefined && isRunning(sample.process)).toBe(false);
  });
});
