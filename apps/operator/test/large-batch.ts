import type { ReplayFacts } from '#delivery';
import type { Database } from '#runtime';
import { approveBatchRequest } from '../src/batches/approve-batch.js';
import { BatchDesk } from '../src/batches/batch-desk.js';
import { draftRequest } from '../src/batches/filter.js';
import type { BatchTools } from '../src/batches/tools.js';
import { manyDestinations } from './many-letters.js';
import { openReplayRig, personOf } from './replay-rig.js';

const day = 86_400_000;

/** As an owner says it that knows every delivery, dead since its letter and never doubtful. */
function factsOf({ event_id, destination, deadline_at }: { event_id: string; destination: string; deadline_at: Date }): ReplayFacts {
  const operation_key = `${event_id}:${destination}:lead`;
  return {
    event_id,
    destination,
    lead_ref: `L-${event_id}`,
    state: 'dead',
    class: 'attempts_exhausted',
    deadline_at: deadline_at.toISOString(),
    generation: 1,
    operations: [{ operation_key, kind: 'lead', state: 'dead', request_hash: `v1:${event_id}`, mapping_version: 1 }],
    mapping_version: 1,
    lookup: ['lead'],
  };
}

const deadlinesSql = 'SELECT event_id, deadline_at FROM dead_letter WHERE event_id = ANY ($1::uuid[])';

/** What batches of `storeMany` letters are made with. */
export function largeBatchTools(db: Database): BatchTools {
  const { tools, replays } = openReplayRig(db);
  const crm = tools.site.destinations.crm as BatchTools['site']['destinations'][string];
  const owner = Object.assign(Object.create(replays) as typeof replays, {
    facts: async (names: readonly { event_id: string; destination: string }[]) => {
      const ids = names.map(({ event_id }) => event_id);
      const rows = await db.sql<{ event_id: string; deadline_at: Date }>('large.deadlines', deadlinesSql, [ids]);
      const deadlines = new Map(rows.map(({ event_id, deadline_at }) => [event_id, deadline_at]));
      return names.map((name) => factsOf({ ...name, deadline_at: deadlines.get(name.event_id) ?? new Date(0) }));
    },
  });
  return {
    ...tools,
    db,
    replays: new Map([['crm-writer', owner]]),
    site: {
      ...tools.site,
      policies: { default: { ...tools.site.policies.default, maxAgeMs: 30 * day } } as BatchTools['site']['policies'],
      destinations: Object.fromEntries(manyDestinations.map((name) => [name, { ...crm, name }])),
    },
  };
}

export const author = personOf('author');
const approver = personOf('approver');

/** The steps of a batch, with the tools given. */
export function largeBatch(tools: BatchTools) {
  const desk = new BatchDesk(tools, () => undefined);
  return {
    desk,
    draft: (filter: object, max: number) =>
      desk.draft(draftRequest.parse({ filter, reason: 'mended', max, rate_per_s: 200, concurrency: 1_000 }), author),
    approve: (batchId: string, hash: string) => desk.approve(batchId, approveBatchRequest.parse({ hash }), approver),
    csvLines: async (batchId: string): Promise<number> => {
      let lines = 0;
      for await (const text of await desk.csv(batchId, author)) lines += text.split('\r\n').length - 1;
      return lines;
    },
  };
}
