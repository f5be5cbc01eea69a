/** An item that has ended, as far as the rules are about it. */
export interface EndedItem {
  outcome: string;
  /** What it failed with now, and what its dead letter was filed under. */
  class?: string;
  letterClass: string;
  code?: string;
  /** Of its last call. */
  durationMs?: number;
}

export interface StopFacts {
  /** Of this batch, oldest first: the last {@link windowSize}. */
  lastEnded: readonly EndedItem[];
  /** Destinations of open items that answer 429 now. */
  throttled: readonly string[];
  /** Dead letters of the batch's destinations in the last minute, without those of its own leads, and in a minute before it began. */
  letters: { perMinute: number; before: number };
  /** Limit of one call. */
  timeoutMs: number;
}

export type StopCode = 'same_error' | 'duplicate' | 'throttled' | 'dead_letters_grow' | 'slow';

/** Why a batch stops by itself; `detail` in words without data. */
export interface StopReason {
  code: StopCode;
  detail: string;
}

/** How many of the items that ended last are looked at. */
export const windowSize = 50;
const sameError = { least: 3, share: 0.2 };
const growth = { least: 20, factor: 3 };
const slow = { least: 20, share: 0.5 };

/** Whether a batch may go on. The first rule that says no counts; each is about harm that more items would add to. */
export function stopReason({ lastEnded, throttled, letters, timeoutMs }: StopFacts): StopReason | undefined {
  const doubled = lastEnded.filter(({ code }) => code === 'several_matches').length;
  if (doubled > 0) return { code: 'duplicate', detail: `${doubled} found more than once at the destination` };
  const same = lastEnded.filter((item) => item.outcome === 'failed' && item.class === item.letterClass);
  if (same.length >= sameError.least && same.length >= sameError.share * lastEnded.length) {
    return {
      code: 'same_error',
      detail: `${same.length} of the last ${lastEnded.length} failed with the class of their dead letter again`,
    };
  }
  if (throttled.length > 0) return { code: 'throttled', detail: `${throttled.join(', ')} asks for less` };
  if (letters.perMinute >= growth.least && letters.perMinute > growth.factor * letters.before) {
    return { code: 'dead_letters_grow', detail: `${letters.perMinute} other dead letters in the last minute, ${letters.before} before` };
  }
  const durations = lastEnded.flatMap(({ durationMs }) => durationMs ?? []).toSorted((a, b) => a - b);
  const median = durations[Math.floor(durations.length / 2)] ?? 0;
  if (durations.length >= slow.least && median > slow.share * timeoutMs) {
    return { code: 'slow', detail: `half of the last ${durations.length} calls took longer than ${Math.round(median)} ms` };
  }
  return undefined;
}

/** What a canary item that ended well showed when it was looked up. */
export interface VerifiedItem {
  found: 'one' | 'several' | 'none' | 'unknown' | 'no_lookup';
}

export interface CanaryFacts {
  /** All of the canary have ended. */
  ended: readonly EndedItem[];
  /** One per succeeded item. */
  verified: readonly VerifiedItem[];
  /** Items behind the canary. */
  rest: number;
  /** Time is left to look again: a search may lag behind. */
  mayLookAgain: boolean;
}

export type CanaryVerdict =
  | { kind: 'passed' }
  | { kind: 'again' }
  | { kind: 'stop'; code: StopCode | 'canary_failed'; detail: string }
  /** A person has to look and say so. */
  | { kind: 'pause'; code: 'canary_unverified' | 'canary_no_lookup'; detail: string; counts: CanaryCounts };

/** Succeeded items of a canary that nobody but a person can vouch for. */
export interface CanaryCounts {
  /** Looked up and not found, or found by nobody who could say. */
  unverified: number;
  /** Of destinations that cannot be asked. */
  no_lookup: number;
}

/** Whether somebody who vouched for so much has seen all of it: no kind has more now. */
export function covers(vouched: CanaryCounts | null, now: CanaryCounts): boolean {
  return vouched !== null && now.unverified <= vouched.unverified && now.no_lookup <= vouched.no_lookup;
}

const canaryShare = { same: 0.2, failed: 0.5 };

/**
 * Whether the rest may follow: every item that ended well is found exactly once at the destination, and few enough ended otherwise. Where
 * nothing is left to be protected only a duplicate is said.
 */
export function judgeCanary({ ended, verified, rest, mayLookAgain }: CanaryFacts): CanaryVerdict {
  const count = (found: VerifiedItem['found']): number => verified.filter((item) => item.found === found).length;
  if (count('several') > 0) return { kind: 'stop', code: 'duplicate', detail: `${count('several')} of the canary found more than once` };
  const open = count('none') + count('unknown');
  if (open > 0 && mayLookAgain) return { kind: 'again' };
  if (rest === 0) return { kind: 'passed' };
  const failed = ended.filter(({ outcome }) => outcome !== 'succeeded');
  const same = failed.filter((item) => item.outcome === 'failed' && item.class === item.letterClass).length;
  if (same >= canaryShare.same * ended.length && same > 0) {
    return {
      kind: 'stop',
      code: 'same_error',
      detail: `${same} of the ${ended.length} of the canary failed with the class of their dead letter again`,
    };
  }
  if (failed.length >= canaryShare.failed * ended.length && failed.length > 0) {
    return { kind: 'stop', code: 'canary_failed', detail: `${failed.length} of the ${ended.length} of the canary did not succeed` };
  }
  const counts = { unverified: open, no_lookup: count('no_lookup') };
  const unasked = counts.no_lookup > 0 ? `${counts.no_lookup} of the canary cannot be looked up there` : undefined;
  if (open > 0) {
    const detail = [`${open} of the canary not found at the destination`, unasked].filter((text) => text !== undefined).join('; ');
    return { kind: 'pause', code: 'canary_unverified', detail, counts };
  }
  if (unasked !== undefined) return { kind: 'pause', code: 'canary_no_lookup', detail: `${unasked}; look there, then resume`, counts };
  return { kind: 'passed' };
}
