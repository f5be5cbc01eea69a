import { approveBatchRequest } from '../src/batches/approve-batch.js';
import { BatchDesk } from '../src/batches/batch-desk.js';
import { draftRequest } from '../src/batches/filter.js';
import type { BatchTools } from '../src/batches/tools.js';
import { approveCorrection } from '../src/corrections/approve-correction.js';
import { type CorrectionRow, readCorrection } from '../src/corrections/correction-row.js';
import { draftCorrection } from '../src/corrections/draft-correction.js';
import type { CorrectionTools } from '../src/corrections/tools.js';
import { personOf, type ReplayRig } from './replay-rig.js';

export const author = personOf('author');
const approver = personOf('approver');

/** Intake takes every correction, and makes it the lead's. */
export function correctionTools(rig: ReplayRig): CorrectionTools {
  return {
    ...rig.tools,
    owner: { histories: async (names) => (await rig.owner.histories(names)).map((one) => one && { ...one, event: 'bGVhZA==' }) },
    replays: rig.replays,
    intake: { byIds: async () => [] } as unknown as CorrectionTools['intake'],
    revisions: {
      propose: async () => ({ result: 'proposed', revision: 2, fields: ['message'] }),
      activate: async () => ({ result: 'active' }),
      withdraw: async () => undefined,
    },
  };
}

/** What people do with corrections, and with batches of the same deliveries. */
export function correctionSteps(tools: CorrectionTools, batchTools: BatchTools) {
  const desk = new BatchDesk(batchTools, () => undefined);
  const read = (id: string): Promise<CorrectionRow> => readCorrection(tools.db, id, author);
  const draft = (event_id: string) =>
    draftCorrection(tools, { event_id, destination: 'crm', changes: { message: 'ring at nine' }, reason: 'it was cut' }, author);
  const approve = async (id: string) => approveCorrection(tools, id, { hash: (await read(id)).hash, person: approver });
  return {
    desk,
    read,
    draft,
    approve,
    approved: async (eventId: string) => {
      const id = await draft(eventId);
      await approve(id);
      return id;
    },
    draftBatch: async () =>
      (await desk.draft(draftRequest.parse({ filter: { destination: 'crm' }, reason: 'mended', rate_per_s: 500 }), author)).batch_id,
    approveBatch: (id: string, hash: string) => desk.approve(id, approveBatchRequest.parse({ hash }), approver),
  };
}
