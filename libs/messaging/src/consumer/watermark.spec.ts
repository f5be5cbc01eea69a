import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Watermark } from './watermark.js';

type Step = { kind: 'fetch'; gaps: number[] } | { kind: 'settle' | 'handOut' | 'takeBack'; pick: number } | { kind: 'skip'; by: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('fetch' as const), gaps: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 40 }) }),
  fc.record({ kind: fc.constantFrom('settle' as const, 'settle' as const, 'handOut' as const, 'takeBack' as const), pick: fc.nat() }),
  fc.record({ kind: fc.constant('skip' as const), by: fc.integer({ min: 1, max: 5 }) }),
);

/** What the ring buffer must equal: every record ever fetched, kept in a list. */
class Model {
  readonly records: { ticket: number; offset: number; settled: boolean }[] = [];
  position: number;

  constructor(start: number) {
    this.position = start;
  }

  get committable(): number {
    return this.records.find(({ settled }) => !settled)?.offset ?? this.position;
  }
}

function run(watermark: Watermark, model: Model, steps: readonly Step[], check: () => void): void {
  for (const { kind, ...rest } of steps) {
    if ('gaps' in rest) {
      for (const gap of rest.gaps) {
        const offset = model.position + gap;
        model.records.push({ ticket: watermark.append(offset), offset, settled: false });
        model.position = offset + 1;
      }
    } else if ('by' in rest) {
      model.position += rest.by;
      watermark.moveTo(model.position);
    } else if (model.records.length > 0) {
      const record = model.records[rest.pick % model.records.length];
      if (record === undefined) continue;
      if (kind === 'handOut') watermark.handOut(record.ticket);
      if (kind === 'takeBack') watermark.takeBack(record.ticket);
      if (kind === 'settle') {
        expect(watermark.settle(record.ticket) === 'before').toBe(record.settled);
        record.settled = true;
      }
    }
    check();
  }
}

describe('Watermark', () => {
  it('is the first unsettled offset, or the fetch position when none is, after any history', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 40 }), fc.array(step, { maxLength: 200 }), (start, steps) => {
        const [watermark, model] = [new Watermark(), new Model(start)];
        watermark.moveTo(start);
        run(watermark, model, steps, () => {
          if (watermark.committable !== model.committable) expect(watermark.committable).toBe(model.committable);
        });
      }),
    );
  });

  it('never goes back and never passes an unsettled offset', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const [watermark, model] = [new Watermark(), new Model(7)];
        watermark.moveTo(7);
        let last = 7;
        run(watermark, model, steps, () => {
          const now = watermark.committable ?? -1;
          const passed = model.records.filter(({ offset, settled }) => !settled && offset < now);
          if (now < last || passed.length > 0) expect({ now, passed }).toEqual({ now: last, passed: [] });
          last = now;
        });
      }),
    );
  });

  it('settles every record exactly once and then stands at the fetch position, in whatever order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3_000 }).chain((count) => fc.shuffledSubarray([...Array(count).keys()], { minLength: count })),
        (order) => {
          const watermark = new Watermark();
          const tickets = order.map((_, index) => watermark.append(100 + index));
          for (const index of order) {
            const ticket = tickets[index] ?? -1;
            watermark.handOut(ticket);
            const results = [watermark.settle(ticket), watermark.settle(ticket)];
            if (results.join() !== 'settled,before') expect(results).toEqual(['settled', 'before']);
          }
          expect(watermark.committable).toBe(100 + order.length);
          expect(watermark.span).toBe(0);
        },
      ),
      { numRuns: 10 },
    );
  });

  it('refuses an offset that came before, instead of committing past it', () => {
    const watermark = new Watermark();
    watermark.append(10);
    expect(() => watermark.append(10)).toThrow(RangeError);
    expect(() => watermark.append(4)).toThrow('came twice');
  });

  it('does not hand out what is settled', () => {
    const watermark = new Watermark();
    const ticket = watermark.append(1);
    watermark.append(2);
    expect(watermark.settle(ticket)).toBe('settled while waiting');
    expect(watermark.handOut(ticket)).toBe(false);
    expect(watermark.takeBack(ticket)).toBe(false);
  });
});
