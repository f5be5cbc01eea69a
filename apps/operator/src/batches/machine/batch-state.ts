/** Life of a replay batch. Nothing is sent before `canary`, and only the canary's items before `running`. */
export const batchStates = ['draft', 'checked', 'approved', 'canary', 'running', 'paused', 'finished', 'stopped', 'expired'] as const;
export type BatchState = (typeof batchStates)[number];

/**
 * What happens to a batch. People: `edit`, `check` (the dry run), `approve`, `pause`, `resume`, `stop`. The runner: `begin`, `canary_passed`,
 * `finish`, and `pause` and `stop` by itself. Time: `expire`.
 */
export const batchEvents = ['edit', 'check', 'approve', 'expire', 'begin', 'canary_passed', 'pause', 'resume', 'finish', 'stop'] as const;
export type BatchEvent = (typeof batchEvents)[number];

/** Why an event is not for a state: a word of the API. */
export type BatchRefusal =
  | 'batch_not_checked'
  | 'batch_already_approved'
  | 'batch_started'
  | 'batch_not_started'
  | 'batch_not_paused'
  | 'batch_paused'
  | 'batch_ended';

/** `before`: the state that a paused batch was in. */
type Target = BatchState | 'before';

/** An edit voids dry run and approval; what has been sent cannot be edited any more. A paused batch goes on where it was. */
const transitions: Readonly<Record<BatchState, Partial<Record<BatchEvent, Target>>>> = {
  draft: { edit: 'draft', check: 'checked', stop: 'stopped', expire: 'expired' },
  checked: { edit: 'draft', check: 'checked', approve: 'approved', stop: 'stopped', expire: 'expired' },
  approved: { edit: 'draft', begin: 'canary', pause: 'paused', stop: 'stopped', expire: 'expired' },
  canary: { canary_passed: 'running', pause: 'paused', finish: 'finished', stop: 'stopped' },
  running: { pause: 'paused', finish: 'finished', stop: 'stopped' },
  paused: { resume: 'before', stop: 'stopped', expire: 'expired' },
  finished: {},
  stopped: {},
  expired: {},
};

export const endedStates = ['finished', 'stopped', 'expired'] as const satisfies readonly BatchState[];

export function hasEnded(state: BatchState): boolean {
  return (endedStates as readonly string[]).includes(state);
}

/** What a batch is: its state, and for a paused one the state that it goes on in. */
export interface Standing {
  state: BatchState;
  pausedFrom?: BatchState;
}

export type Step = { ok: true; standing: Standing } | { ok: false; refusal: BatchRefusal };

/** The one place where a batch changes its state. */
export function next({ state, pausedFrom }: Standing, event: BatchEvent): Step {
  const target = transitions[state][event];
  if (target === undefined) return { ok: false, refusal: refusalOf(state, event) };
  if (target === 'paused') return { ok: true, standing: { state: 'paused', pausedFrom: state } };
  // A batch that says nothing of where it was begins with its canary: what was sent before is not sent again.
  return { ok: true, standing: { state: target === 'before' ? (pausedFrom ?? 'canary') : target } };
}

function refusalOf(state: BatchState, event: BatchEvent): BatchRefusal {
  if (hasEnded(state)) return 'batch_ended';
  if (event === 'resume') return 'batch_not_paused';
  if (event === 'approve') return state === 'draft' ? 'batch_not_checked' : 'batch_already_approved';
  if (event === 'edit') return 'batch_started';
  if (event === 'check') return state === 'approved' ? 'batch_already_approved' : 'batch_started';
  if (state === 'paused') return 'batch_paused';
  return state === 'canary' || state === 'running' ? 'batch_started' : 'batch_not_started';
}
