import type { Blocked } from './summary-facts.js';

export interface WaitingDelivery {
  destination: string;
  state: string;
  class?: string;
  code?: string;
  blocked?: Blocked;
}

const blockedWords: Readonly<Record<Blocked, string>> = {
  hold: 'held by a person',
  failing: 'held while the destination fails; a probe is tried from time to time',
  throttled: 'held while the destination wants us to slow down',
  auth: 'held while the destination does not accept our login',
};

/** Why the next attempt of a delivery comes when it does, or does not come; undefined where none is to come. Pure. */
export function whyThen({ state, class: failure, code, blocked }: WaitingDelivery): string | undefined {
  switch (state) {
    case 'accepted':
      return blocked === undefined
        ? 'not claimed yet; announced again if that takes longer than 5 minutes'
        : `not claimed: ${blockedWords[blocked]}`;
    case 'pending':
      return 'given back before anything was sent; claimed again at once';
    case 'in_flight':
      return 'a call is under way';
    case 'held':
      return blockedWords[blocked ?? 'hold'];
    case 'waiting':
      return waitingWords(code);
    case 'uncertain':
      return failure === 'unverified_write'
        ? 'unanswered for too long: a person must record evidence'
        : 'looked up once the destination must have finished with the call; nothing is sent again before that';
    default:
      return undefined;
  }
}

function waitingWords(code: string | undefined): string {
  if (code === 'proved_absent') return 'proved absent by two lookups: the same operation key is sent again';
  if (code === 'contact_found') return 'the person is there already: the record is changed by its id';
  if (code === 'contact_busy') return 'another lead of the same person is being written there';
  if (code === 'throttled' || code === 'http_429') return 'the destination named the time in Retry-After';
  return code === undefined ? 'back-off after a failed call' : `back-off after ${code}`;
}
