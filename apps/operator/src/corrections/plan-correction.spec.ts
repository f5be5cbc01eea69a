import { describe, expect, it } from '@jest/globals';
import type { LookedUp, ReplayFacts } from '#delivery';
import { correctionHash, type Plan, planCorrection, repairOf } from './plan-correction.js';

type Known = { state?: string; found?: 'found' | 'absent' | 'several' | 'unknown'; doubtful?: boolean; unsettled?: true; ref?: string };

function asked(state: string, operations: Record<string, Known>): { facts: ReplayFacts; looked: LookedUp } {
  const entries = Object.entries(operations);
  const facts = {
    event_id: 'e',
    destination: 'crm',
    lead_ref: 'L-1',
    state,
    deadline_at: '',
    generation: 1,
    operations: entries.map(([kind, { state: own = 'succeeded', doubtful, unsettled, ref }]) => {
      return { operation_key: `e:crm:${kind}`, kind, state: own, ref, ...(doubtful && { doubtful_since: 'then', unsettled }) };
    }),
    lookup: entries.filter(([, { found }]) => found !== undefined).map(([kind]) => kind),
  } as ReplayFacts;
  const found = entries.flatMap(([kind, { found: result, ref }]) =>
    result ? [{ operation_key: `e:crm:${kind}`, kind, result, ref: result === 'found' ? (ref ?? `${kind}-1`) : undefined }] : [],
  );
  return { facts, looked: { event_id: 'e', destination: 'crm', operations: found } };
}
function plan(state: string, operations: Record<string, Known>, fields = ['email']): Plan {
  const { facts, looked } = asked(state, operations);
  return planCorrection(facts, looked, fields);
}
const words = (made: Plan) =>
  made.ok ? made.steps.map(({ kind, step, found, ref }) => `${kind} ${step}${found ? ' found' : ''} ${ref ?? '-'}`) : made.obstacle;

describe('a correction', () => {
  it.each<[string, string, Record<string, Known>, string[], unknown]>([
    [
      'changes the person alone',
      'delivered',
      { contact: { found: 'found' }, lead: { found: 'found' } },
      ['email'],
      ['contact change contact-1', 'lead keep lead-1'],
    ],
    [
      'adopts what silently succeeded',
      'dead',
      { contact: { found: 'found' }, lead: { state: 'dead', found: 'found' } },
      ['name'],
      ['contact change contact-1', 'lead keep found lead-1'],
    ],
    [
      'makes what is proved absent',
      'dead',
      { contact: { found: 'found' }, lead: { state: 'dead', found: 'absent', doubtful: true } },
      ['message'],
      ['contact keep contact-1', 'lead create -'],
    ],
    [
      'takes no lookup for a proof that comes too soon after a doubtful call',
      'dead',
      { lead: { state: 'dead', found: 'absent', doubtful: true, unsettled: true } },
      ['message'],
      'lookup-failed',
    ],
    ['makes what was never sent, without a lookup', 'expired', { lead: { state: 'expired' } }, ['email'], ['lead create -']],
    ['trusts a reference that cannot be looked up', 'delivered', { contact: { ref: 'C-9' } }, ['phone'], ['contact change C-9']],
    ['writes over no lead', 'delivered', { contact: { found: 'found' }, lead: { found: 'found' } }, ['custom'], 'cannot-change'],
    ['writes over no lead that carries the person', 'delivered', { lead: { found: 'found' } }, ['email'], 'cannot-change'],
    ['writes over none that silently succeeded', 'dead', { lead: { state: 'dead', found: 'found' } }, ['email'], 'cannot-change'],
    ['sends nothing that the destination takes no part of', 'delivered', { contact: { found: 'found' } }, ['message'], 'nothing-to-change'],
    ['makes nothing that may be there', 'dead', { lead: { state: 'dead', doubtful: true } }, ['email'], 'cannot-look-up'],
    ['makes nothing again that was deleted there', 'delivered', { contact: { found: 'absent' } }, ['email'], 'gone-at-destination'],
    ['chooses none of several', 'delivered', { contact: { found: 'several' } }, ['email'], 'several-at-destination'],
    ['guesses nothing while the destination does not answer', 'delivered', { contact: { found: 'unknown' } }, ['email'], 'lookup-failed'],
    ['waits for what is uncertain', 'uncertain', { lead: { state: 'uncertain' } }, ['email'], 'delivery-not-settled'],
    ['waits for what is in flight', 'in_flight', { lead: { state: 'in_flight' } }, ['email'], 'delivery-not-settled'],
    ['revives nothing that was erased', 'erased', { lead: { state: 'erased' } }, ['email'], 'delivery-ended'],
  ])('%s', (_, state, operations, fields, expected) => {
    expect(words(plan(state, operations, fields))).toEqual(expected);
  });

  it('has a new generation only of what had succeeded and changes', () => {
    const made = plan('dead', { contact: { found: 'found' }, lead: { state: 'dead', found: 'found' } });
    expect(made.ok && repairOf(made.steps, 2)).toEqual({
      generation: 2,
      renew: [{ operationKey: 'e:crm:contact', ref: 'contact-1' }],
      adopt: [{ operationKey: 'e:crm:lead', ref: 'lead-1' }],
    });
  });

  it('is approved as it was looked at: whatever differs has another hash', () => {
    const about = { correction_id: 'c', event_id: 'e', destination: 'crm', revision: 2, generation: 1, fields: ['name', 'email'] };
    const made = plan('delivered', { contact: { found: 'found' } });
    if (!made.ok) throw new Error(made.obstacle);
    const hash = correctionHash(about, made.steps);
    expect(correctionHash({ ...about, fields: ['email', 'name'] }, made.steps)).toBe(hash);
    const others = [
      correctionHash({ ...about, revision: 3 }, made.steps),
      correctionHash({ ...about, generation: 2 }, made.steps),
      correctionHash({ ...about, fields: ['name'] }, made.steps),
      correctionHash(
        about,
        made.steps.map((step) => ({ ...step, ref: 'contact-2' })),
      ),
      correctionHash(
        about,
        made.steps.map((step) => ({ ...step, step: 'keep' as const })),
      ),
    ];
    expect(new Set([hash, ...others]).size).toBe(6);
  });
});
