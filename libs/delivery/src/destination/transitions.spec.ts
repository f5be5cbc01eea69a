import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { awaitsProbe, initialState, type SharedState, standingOf } from './shared-state.js';
import { type EventContext, probeLeaseMs, type StateEvent, transition } from './transitions.js';

const policy = { breaker: { coolDownMs: 15_000, longestCoolDownMs: 60_000 }, backoff: { baseMs: 15_000, capMs: 300_000 } };
const at = (nowMs: number, random = 0): EventContext => ({ nowMs, policy, random });

/** Applies events one after the other; each must change something. */
const after = (steps: readonly (readonly [nowMs: number, event: StateEvent])[], from: SharedState = initialState): SharedState =>
  steps.reduce((state, [nowMs, event]) => {
    const next = transition(state, event, at(nowMs));
    if (next === undefined) throw new Error(`${event.kind} changed nothing`);
    return next;
  }, from);
const failing = (version = 1): StateEvent => ({ kind: 'failing', version });
const taken = (token: string): StateEvent => ({ kind: 'probe_taken', token, by: 'one' });
const answered = (token: string): StateEvent => ({ kind: 'probe_answered', token });
const failed = (token: string): StateEvent => ({ kind: 'probe_failed', token, reason: 'failing' });

describe('the shared state of a destination', () => {
  it('is blocked for a cool-down when calls fail, and ramps after two answered probes', () => {
    const blocked = after([[0, failing()]]);
    expect(blocked.block).toEqual({ reason: 'failing', openAtMs: 15_000 });
    expect(transition(blocked, taken('a'), at(14_999))).toBeUndefined();
    const once = after(
      [
        [15_000, taken('a')],
        [15_100, answered('a')],
      ],
      blocked,
    );
    expect(standingOf(once, 15_100)).toEqual({ mode: 'blocked', reason: 'failing' });
    expect(once.probe).toEqual({ token: 'a', by: 'one', untilMs: 15_100 + probeLeaseMs });
    const twice = after([[15_200, answered('a')]], once);
    expect([15_200, 19_199, 19_200].map((nowMs) => standingOf(twice, nowMs).mode)).toEqual(['ramping', 'ramping', 'flowing']);
  });

  it('cools down for longer each time a probe fails, and from the beginning once it was well for a while', () => {
    const again = after([
      [0, failing()],
      [15_000, taken('a')],
      [15_000, failed('a')],
    ]);
    expect(again).toMatchObject({ coolDowns: 2, block: { openAtMs: 45_000 } });
    const well = after(
      [
        [45_000, taken('b')],
        [45_000, answered('b')],
        [45_000, answered('b')],
      ],
      again,
    );
    const soon = after([[50_000, failing(well.version)]], well);
    expect(soon).toMatchObject({ coolDowns: 3, block: { openAtMs: 110_000 } });
    const later = after([[45_000 + 64_000, failing(well.version)]], well);
    expect(later).toMatchObject({ coolDowns: 1, block: { openAtMs: 124_000 } });
  });

  it('takes no conclusion from calls of another time', () => {
    const held = after([
      [0, { kind: 'held', by: 'ada', reason: 'maintenance' }],
      [5, { kind: 'released' }],
    ]);
    expect(transition(held, failing(1), at(10))).toBeUndefined();
    expect(transition(after([[0, failing()]]), failing(2), at(10))).toBeUndefined();
  });

  it('gives one lease at a time, and another process the next when it runs out', () => {
    const blocked = after([
      [0, failing()],
      [15_000, taken('a')],
    ]);
    expect(transition(blocked, taken('b'), at(15_000 + probeLeaseMs - 1))).toBeUndefined();
    const lapsed = after([[15_000 + probeLeaseMs, taken('b')]], blocked);
    expect(transition(lapsed, answered('a'), at(25_001))).toBeUndefined();
    expect(transition(lapsed, failed('a'), at(25_001))).toBeUndefined();
    expect(lapsed.probes).toBe(2);
  });

  it('begins another cool-down when three processes died with the probe', () => {
    const tries = after([
      [0, failing()],
      [15_000, taken('a')],
      [25_000, taken('b')],
      [35_000, taken('c')],
    ]);
    const fourth = after([[45_000, taken('d')]], tries);
    expect(fourth).toMatchObject({ probe: undefined, probes: 0, coolDowns: 2, block: { openAtMs: 75_000 } });
  });

  it('does not count a turn that was given back', () => {
    const back = after([
      [0, failing()],
      [15_000, taken('a')],
      [18_000, { kind: 'probe_returned', token: 'a' }],
    ]);
    expect(back).toMatchObject({ probes: 0, probe: undefined });
    expect(awaitsProbe(back, 18_000)).toBe(true);
  });

  it('waits as long as the longest of several answers asked for', () => {
    const first = after([[0, { kind: 'throttled', afterMs: 10_000 }]]);
    expect(first.block).toEqual({ reason: 'throttled', openAtMs: 10_000 });
    expect(transition(first, { kind: 'throttled', afterMs: 3_000 }, at(1_000))).toBeUndefined();
    expect(transition(first, { kind: 'throttled' }, at(1_000))).toBeUndefined();
    expect(after([[1_000, { kind: 'throttled', afterMs: 20_000 }]], first).block?.openAtMs).toBe(21_000);
  });

  it('stays refused until its check passes or its probes are answered', () => {
    const refused = after([[0, { kind: 'refused' }]]);
    expect(transition(refused, { kind: 'refused' }, at(1))).toBeUndefined();
    expect(after([[1, { kind: 'throttled', afterMs: 60_000 }]], refused).block?.reason).toBe('auth');
    const checked = after(
      [
        [15_000, taken('a')],
        [15_001, { kind: 'check_passed', token: 'a' }],
      ],
      refused,
    );
    expect(standingOf(checked, 15_001).mode).toBe('ramping');
    const again = after(
      [
        [15_000, taken('a')],
        [15_001, { kind: 'probe_failed', token: 'a', reason: 'auth' }],
      ],
      refused,
    );
    expect(again).toMatchObject({ coolDowns: 2, block: { reason: 'auth' } });
  });

  it('is held until it is released, whatever happens, and ramps then', () => {
    const held = after([[0, { kind: 'held', by: 'ada', reason: 'maintenance' }]]);
    expect(standingOf(held, 1e9)).toEqual({ mode: 'blocked', reason: 'hold' });
    const released = after([[1_000, { kind: 'released' }]], held);
    expect(standingOf(released, 1_000).mode).toBe('ramping');
    expect(transition(initialState, { kind: 'released' }, at(0))).toBeUndefined();
  });

  it('is probed at once when a person releases what is blocked for a reason of its own', () => {
    const both = after([
      [0, failing()],
      [1_000, { kind: 'held', by: 'ada', reason: 'looking' }],
    ]);
    expect(awaitsProbe(both, 100_000)).toBe(false);
    const released = after([[2_000, { kind: 'released' }]], both);
    expect(awaitsProbe(released, 2_000)).toBe(true);
  });

  const token = fc.constantFrom('a', 'b', 'c');
  const reason = fc.constantFrom('failing' as const, 'throttled' as const, 'auth' as const);
  const events = fc.oneof<fc.Arbitrary<StateEvent>[]>(
    fc.nat(60).map((version) => failing(version)),
    fc.option(fc.nat(30_000), { nil: undefined }).map((afterMs) => ({ kind: 'throttled', afterMs })),
    fc.constant({ kind: 'refused' }),
    token.map((t) => taken(t)),
    fc.record({ kind: fc.constant('probe_used'), token, lead: fc.constantFrom('x', 'y', 'z') }),
    token.map((t) => ({ kind: 'probe_renewed', token: t })),
    token.map((t) => ({ kind: 'probe_returned', token: t })),
    token.map((t) => answered(t)),
    fc.record({ kind: fc.constant('probe_failed'), token, reason }),
    token.map((t) => ({ kind: 'check_passed', token: t })),
    fc.constant({ kind: 'held', by: 'ada', reason: 'x' }),
    fc.constant({ kind: 'released' }),
  );

  it('keeps its rules in any order of events', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(events, fc.nat(20_000)), { maxLength: 120 }), (steps) => {
        let state = initialState;
        let nowMs = 0;
        for (const [event, gapMs] of steps) {
          nowMs += gapMs;
          const next = transition(state, event, at(nowMs, 0.5));
          if (next === undefined) continue;
          keepsItsRules(state, { event, next, nowMs });
          state = next;
        }
      }),
      { numRuns: 500 },
    );
  });
});

function keepsItsRules(before: SharedState, { event, next, nowMs }: { event: StateEvent; next: SharedState; nowMs: number }): void {
  expect(next.version).toBe(before.version + 1);
  expect(next.probes).toBeLessThanOrEqual(3);
  expect(next.answered).toBeLessThanOrEqual(1);
  expect(next.probeLeads.length).toBeLessThanOrEqual(32);
  if (next.probe !== undefined) {
    expect(next.block).toBeDefined();
    expect(next.hold).toBeUndefined();
  }
  if (before.hold !== undefined && next.hold === undefined) expect(event.kind).toBe('released');
  if (before.block !== undefined && next.block === undefined) expect(['probe_answered', 'check_passed']).toContain(event.kind);
  const openedAtMs = before.block?.openAtMs ?? 0;
  if (next.block !== undefined && next.block.openAtMs < openedAtMs) expect(event.kind).toBe('released');
  const newLease = next.probe !== undefined && next.probe.token !== before.probe?.token;
  if (newLease && event.kind !== 'probe_taken') throw new Error(`${event.kind} gave a lease`);
  if (event.kind === 'probe_taken' && next.probe?.token === event.token) expect(awaitsProbe(before, nowMs)).toBe(true);
}
