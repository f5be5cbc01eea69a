import type { JWK } from 'jose';
import type { ActivateAnswer, ProposeAnswer } from '#contracts';
import type { Database, InternalClient, Logger, Site } from '#runtime';
import { InternalUnavailable } from '#runtime';
import type { ReplayOwner, Vault } from '../batches/replay-owner.js';
import { type Refusal, refusals } from '../http/refusal.js';
import type { IntakeApi } from '../leads/intake-api.js';
import type { OwnerApi } from '../owners/owner-api.js';
import type { Obstacle } from './plan-correction.js';

/** The service that writes to destinations. */
export const writer = 'crm-writer';

/** What corrections are made with. */
export interface CorrectionTools {
  db: Database;
  intake: IntakeApi;
  revisions: Revisions;
  owner: Pick<OwnerApi, 'histories'>;
  replays: ReplayOwner;
  /** Whether anything of the lead is kept, and consent stands. */
  vault: Vault;
  site: Pick<Site, 'destinations'>;
  /** Signs permits. */
  privateKey: JWK;
  relayWake: () => void;
  logger: Logger;
}

/** Revisions of a lead's payload, which intake keeps. Every method rejects with InternalUnavailable or InternalRefused. */
export interface Revisions {
  propose(correction: { correction_id: string; lead_ref: string; changes: object }): Promise<ProposeAnswer>;
  activate(correction: { correction_id: string; lead_ref: string; revision: number }): Promise<ActivateAnswer>;
  withdraw(correctionId: string): Promise<void>;
}

/** `client` undefined where INTERNAL_URLS does not name intake: then it never answers. */
export function revisionsOf(client: Pick<InternalClient, 'post'> | undefined): Revisions {
  const post = <T>(path: string, body: object): Promise<T> =>
    client === undefined ? Promise.reject(new InternalUnavailable('INTERNAL_URLS does not name intake')) : client.post<T>(path, body);
  return {
    propose: (correction) => post('/internal/v1/vault:propose', correction),
    activate: (correction) => post('/internal/v1/vault:activate', correction),
    withdraw: async (correction_id) => void (await post('/internal/v1/vault:withdraw', { correction_id })),
  };
}

const words: Readonly<Record<Obstacle, string>> = {
  'delivery-not-settled': 'The delivery is under way or uncertain: wait for its end, or settle it first',
  'delivery-ended': 'The delivery was discarded or erased',
  'several-at-destination': 'The destination has more than one record of it: a person has to look',
  'gone-at-destination': 'The destination does not have the record any more: it is not made again by a correction',
  'cannot-look-up': 'It may have been written, and the destination cannot be asked: record evidence first',
  'cannot-change': 'The destination has this record, and only the record of a person can be changed there: change it by hand',
  'nothing-to-change': 'The destination has everything, and nothing of what changes is written there',
  'lookup-failed':
    'The destination could not be asked what it has, or a call is too recent for its search to prove anything: try again in a minute',
};

export const correctionRefusals = {
  obstacle: (obstacle: Obstacle, kind: string | undefined): Refusal =>
    refusals.conflict(obstacle, words[obstacle], kind === undefined ? {} : { kind }),
  gone: (): Refusal => refusals.conflict('gone', 'What the lead said is not kept any more'),
  consentWithdrawn: (): Refusal =>
    refusals.conflict('consent-withdrawn', 'The person withdrew consent, and the destination requires it: nothing more is sent there'),
  unchanged: (): Refusal => refusals.conflict('nothing-changes', 'The lead says this already'),
  unknownSource: (): Refusal => refusals.conflict('unknown-source', 'The source of the lead is not configured any more'),
  open: (): Refusal => refusals.conflict('correction-open', 'There is a correction of this lead at this destination that has not ended'),
  openElsewhere: (correctionId: string): Refusal =>
    refusals.conflict('correction-open', 'An item of the batch has a correction that has not ended: run the dry run again', {
      correction_id: correctionId,
    }),
  inBatch: (batchId: string): Refusal =>
    refusals.conflict('item-in-batch', `The delivery is in the batch ${batchId}, which has not ended: wait for its end, or stop it`, {
      batch_id: batchId,
    }),
  state: (state: string): Refusal => refusals.conflict('correction-not-a-draft', `The correction is ${state} already`, { state }),
  expired: (): Refusal => refusals.conflict('draft-expired', 'The draft is too old to decide by: make another'),
  selfApproval: (): Refusal => refusals.conflict('self-approval', 'The author of a correction cannot approve it: a second person has to'),
  staleHash: (hash: string): Refusal =>
    refusals.conflict('stale-hash', 'The correction is another than the one you looked at: look again', { hash }),
  changed: (): Refusal => refusals.conflict('changed-meanwhile', 'The lead or its records have changed since the draft: make another'),
};
