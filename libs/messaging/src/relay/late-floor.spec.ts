import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LateFloor } from './late-floor.js';

/** One step of a made-up database with a reader that looks through the table at every beat. */
type Step = 'begin' | 'commitOldest' | 'commitNewest' | 'abortOldest' | 'beat';

interface Transaction {
  xid: bigint;
  id: bigint;
}

describe('the floor of late commits', () => {
  it('never passes a row that was not seen, whatever the order of commits', () => {
    const step = fc.constantFrom<Step>('begin', 'commitOldest', 'commitNewest', 'abortOldest', 'beat', 'beat');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const floor = new LateFloor();
        const open: Transaction[] = [];
        const committed = new Set<bigint>();
        const seen = new Set<bigint>();
        let nextXid = 100n;
        let nextId = 1n;
        let highest = 0n;
        for (const what of steps) {
          if (what === 'begin') open.push({ xid: nextXid++, id: nextId++ });
          else if (what === 'abortOldest') open.shift();
          else if (what !== 'beat') {
            const ended = what === 'commitOldest' ? open.shift() : open.pop();
            if (ended !== undefined) committed.add(ended.id);
          } else {
            for (const id of committed) if (id > highest) seen.add(id);
            for (const id of seen) if (id > highest) highest = id;
            floor.observe({ xmin: open[0]?.xid ?? nextXid, xmax: nextXid }, highest);
            for (const id of committed) if (id > floor.floor) seen.add(id);
            floor.looked();
            for (const { id } of open) expect(id > floor.floor).toBe(true);
            for (const id of committed) if (id <= floor.floor) expect(seen.has(id)).toBe(true);
          }
        }
      }),
    );
  });

  it('follows within three beats once nothing is open', () => {
    const floor = new LateFloor();
    for (const [xmax, highest] of [
      [10n, 5n],
      [20n, 9n],
      [30n, 12n],
    ] as const) {
      floor.observe({ xmin: xmax, xmax }, highest);
      floor.looked();
    }
    expect(floor.floor).toBe(5n);
  });

  it('stays below a transaction that goes on and on', () => {
    const floor = new LateFloor();
    for (let beat = 1n; beat < 50n; beat += 1n) {
      floor.observe({ xmin: 7n, xmax: 100n + beat }, beat * 10n);
      floor.looked();
    }
    expect(floor.floor).toBe(0n);
  });

  it('does not move where nobody looked', () => {
    const floor = new LateFloor();
    for (let beat = 1n; beat < 10n; beat += 1n) floor.observe({ xmin: beat * 10n, xmax: beat * 10n }, beat);
    expect(floor.floor).toBe(0n);
  });
});
