import { describe, expect, it } from '@jest/globals';
import type { Facts } from './facts.js';
import { paintsFor, resultTable } from './print.js';
import { runTour, type TourListener } from './run-tour.js';
import { SharedKill } from './shared-kill.js';
import type { TourRow } from './tour-row.js';
import type { World } from './world.js';

const quiet: TourListener = { began: () => undefined, said: () => undefined, ended: () => undefined };
const world = { run: 'r', against: 'delivery', patienceMs: 50, notComing: () => undefined } as unknown as World;

/** A row that reads what it is given, one after another. */
function row(readings: Facts[], hits: number): TourRow {
  let at = 0;
  return {
    id: 'valid',
    lane: 'leads',
    fault: 'none',
    expected: { records: 1 },
    begin: () =>
      Promise.resolve({
        read: () => Promise.resolve(readings[Math.min(at++, readings.length - 1)] as Facts),
        hits: () => Promise.resolve(hits),
      }),
  };
}

const run = async (one: TourRow) => (await runTour(world, [one], quiet))[0];

describe('a tour', () => {
  it('is green where the facts are as expected and the fault was met', async () => {
    expect(await run(row([{ records: 1 }], 1))).toMatchObject({ ok: true, hits: 1, actual: { records: 1 } });
  });

  it('is red where nobody met the fault', async () => {
    expect(await run(row([{ records: 1 }], 0))).toMatchObject({ ok: false });
  });

  it('is red where a row could not run, whatever it expects', async () => {
    const broken: TourRow = { ...row([], 1), begin: () => Promise.reject(new Error('no such door')) };
    expect(await run(broken)).toMatchObject({ ok: false, hits: 0, actual: { not_run: 'no such door' } });
  });

  it('is red where a fact is missing or one more is read', async () => {
    expect(await run(row([{}], 1))).toMatchObject({ ok: false });
    expect(await run(row([{ records: 1, requests: 2 }], 1))).toMatchObject({ ok: false });
  });

  it('is red where a second effect comes after the first was seen', async () => {
    expect(await run(row([{ records: 1 }, { records: 2 }], 1))).toMatchObject({ ok: false, actual: { records: 2, earlier: 'records 1' } });
  });

  it('shows expected and actual side by side, without colours where nobody watches', async () => {
    const red = await run(row([{ records: 2 }], 1));
    const table = resultTable(red === undefined ? [] : [red], paintsFor(false)).join('\n');
    expect(table).toContain('RED  valid  1     records 1  records 2');
    expect(table).not.toContain('\u001B');
  });
});

describe('a shared kill', () => {
  it('waits for every row that is to be hit, and for none that cannot come', async () => {
    let killed = 0;
    const kill = new SharedKill(['a', 'b', 'c'], async () => {
      killed += 1;
    });
    const hit = Promise.all([kill.ready('a'), kill.ready('b')]);
    expect(killed).toBe(0);
    kill.without('c');
    await hit;
    expect(killed).toBe(1);
  });

  it('lets faults that last only seconds begin one after the other, the shortest last', async () => {
    const kill = new SharedKill(['long', 'short', 'brief'], async () => undefined);
    const begun: string[] = [];
    const begin = (row: string, lastsMs: number) => kill.turn(row, lastsMs).then(() => void begun.push(row));
    const turns = [begin('brief', 1), begin('short', 2)];
    await Promise.resolve();
    expect(begun).toEqual([]);
    const hit = [kill.ready('long')];
    await turns[1];
    expect(begun).toEqual(['short']);
    hit.push(kill.ready('short'));
    await turns[0];
    expect(begun).toEqual(['short', 'brief']);
    hit.push(kill.ready('brief'));
    await Promise.all(hit);
  });
});
