import { describe, expect, it } from '@jest/globals';
import { type WaitingDelivery, whyThen } from './why-then.js';

const why = (changes: Partial<WaitingDelivery>) => whyThen({ destination: 'crm', state: 'waiting', ...changes });

describe('why the next attempt comes when it does', () => {
  it.each([
    [{ state: 'accepted' }, 'not claimed yet; announced again if that takes longer than 5 minutes'],
    [{ state: 'accepted', blocked: 'hold' }, 'not claimed: held by a person'],
    [{ state: 'pending' }, 'given back before anything was sent; claimed again at once'],
    [{ state: 'in_flight' }, 'a call is under way'],
    [{ code: 'http_503' }, 'back-off after http_503'],
    [{}, 'back-off after a failed call'],
    [{ code: 'http_429' }, 'the destination named the time in Retry-After'],
    [{ code: 'contact_busy' }, 'another lead of the same person is being written there'],
    [{ code: 'proved_absent' }, 'proved absent by two lookups: the same operation key is sent again'],
    [{ state: 'held' }, 'held by a person'],
    [{ state: 'held', blocked: 'failing' }, 'held while the destination fails; a probe is tried from time to time'],
    [{ state: 'held', blocked: 'throttled' }, 'held while the destination wants us to slow down'],
    [{ state: 'held', blocked: 'auth' }, 'held while the destination does not accept our login'],
    [{ state: 'uncertain' }, 'looked up once the destination must have finished with the call; nothing is sent again before that'],
    [{ state: 'uncertain', class: 'unverified_write' }, 'unanswered for too long: a person must record evidence'],
  ] as const)('%j: %s', (delivery, words) => {
    expect(why(delivery)).toBe(words);
  });

  it.each(['delivered', 'dead', 'expired', 'discarded', 'erased'])('is not asked of what is %s', (state) => {
    expect(why({ state })).toBeUndefined();
  });
});
