import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type BatchEvent, type BatchState, batchEvents, batchStates, endedStates, hasEnded, next, type Standing } from './batch-state.js';

const walk = (events: readonly BatchEvent[]): { event: BatchEvent; before: Standing; after: Standing; ok: boolean }[] => {
  let standing: Standing = { state: 'draft' };
  return events.map((event) => {
    const before = standing;
    const step = next(before, event);
    if (step.ok) standing = step.standing;
    return { event, before, after: standing, ok: step.ok };
  });
};
const happy: readonly BatchEvent[] = ['check', 'approve', 'begin', 'canary_passed', 'finish'];
/** Mostly what leads somewhere, so that the walks get beyond the draft. */
const events = fc.array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...happy) }, fc.constantFrom(...batchEvents)), { maxLength: 40 });

describe('the states of a batch', () => {
  it('lead from draft over dry run, approval and canary to the end', () => {
    expect(walk(happy).map(({ after }) => after.state)).toEqual(['checked', 'approved', 'canary', 'running', 'finished']);
  });

  it('can each be reached', () => {
    const seen = new Set<BatchState>(['draft']);
    fc.assert(
      fc.property(events, (all) => void walk(all).forEach(({ after }) => void seen.add(after.state))),
      { numRuns: 2_000, seed: 7 },
    );
    expect([...seen].sort()).toEqual([...batchStates].sort());
  });

  it('send nothing that was not checked, approved and begun since the last edit, and nothing in bulk before the canary passed', () => {
    fc.assert(
      fc.property(events, (all) => {
        let since: BatchEvent[] = [];
        for (const { event, after, ok } of walk(all)) {
          if (ok) since = event === 'edit' ? [] : [...since, event];
          if (after.state === 'running') expect(since).toEqual(expect.arrayContaining(['check', 'approve', 'begin', 'canary_passed']));
          if (after.state === 'canary') expect(since).toEqual(expect.arrayContaining(['check', 'approve', 'begin']));
        }
      }),
    );
  });

  it('never leave their end, and say that it is one', () => {
    for (const state of endedStates) {
      for (const event of batchEvents) expect(next({ state }, event)).toEqual({ ok: false, refusal: 'batch_ended' });
    }
    fc.assert(fc.property(events, (all) => walk(all).every(({ before, ok }) => !(hasEnded(before.state) && ok))));
  });

  it('go on after a pause where they were', () => {
    for (const state of ['approved', 'canary', 'running'] as const) {
      const paused = next({ state }, 'pause');
      expect(paused).toEqual({ ok: true, standing: { state: 'paused', pausedFrom: state } });
      expect(paused.ok && next(paused.standing, 'resume')).toEqual({ ok: true, standing: { state } });
    }
  });

  it('can be stopped until they end', () => {
    for (const state of batchStates.filter((one) => !hasEnded(one))) {
      expect(next({ state }, 'stop')).toEqual({ ok: true, standing: { state: 'stopped' } });
    }
  });

  it.each<[BatchState, BatchEvent, string]>([
    ['draft', 'approve', 'batch_not_checked'],
    ['approved', 'approve', 'batch_already_approved'],
    ['running', 'approve', 'batch_already_approved'],
    ['paused', 'approve', 'batch_already_approved'],
    ['running', 'edit', 'batch_started'],
    ['paused', 'edit', 'batch_started'],
    ['approved', 'check', 'batch_already_approved'],
    ['running', 'resume', 'batch_not_paused'],
    ['draft', 'begin', 'batch_not_started'],
    ['checked', 'pause', 'batch_not_started'],
    ['paused', 'pause', 'batch_paused'],
    ['canary', 'expire', 'batch_started'],
  ])('of %s refuse %s as %s', (state, event, refusal) => {
    expect(next({ state }, event)).toEqual({ ok: false, refusal });
  });
});
