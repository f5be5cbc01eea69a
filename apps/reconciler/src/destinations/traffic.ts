import { groups, topics } from '#contracts';
import type { DestinationsAnswer } from '#delivery';
import type { AdminPort } from '#messaging';
import type { InternalClient } from '#runtime';

/** Records of a destination's group that wait unread and count as a backlog: more than one batch in hand. */
const backlogRecords = 500;
/** How old an answer may be. */
const keepMs = 1_000;

/** Whether live leads want a destination at the moment. */
export interface Traffic {
  /** Why comparing has to wait: `held`, `throttled`, `blocked`, `backlog`; undefined where it may go on. Rejects where nobody can say. */
  busy(destination: string): Promise<string | undefined>;
}

/** Goes by what crm-writer says of its destinations, and by the lag of its groups. */
export function liveTraffic({ owner, admin }: { owner: InternalClient; admin: Pick<AdminPort, 'offsetsOf' | 'groupOffsets'> }): Traffic {
  const kept = new Map<string, { until: number; answer: Promise<string | undefined> }>();
  const ask = async (destination: string): Promise<string | undefined> => {
    const { items } = await owner.post<DestinationsAnswer>('/internal/v1/destinations:state', {});
    const state = items.find((item) => item.destination === destination);
    if (state?.hold !== undefined) return 'held';
    if (state !== undefined && state.mode !== 'flowing') return state.reason === 'throttled' ? 'throttled' : 'blocked';
    return (await backlogOf(admin, destination)) > BigInt(backlogRecords) ? 'backlog' : undefined;
  };
  return {
    busy: (destination) => {
      const known = kept.get(destination);
      if (known !== undefined && performance.now() < known.until) return known.answer;
      const answer = ask(destination);
      kept.set(destination, { until: performance.now() + keepMs, answer });
      answer.catch(() => kept.delete(destination));
      return answer;
    },
  };
}

async function backlogOf(admin: Pick<AdminPort, 'offsetsOf' | 'groupOffsets'>, destination: string): Promise<bigint> {
  const main = [topics.leadAccepted];
  const commits = await admin.groupOffsets(groups.crmWriter(destination), main);
  const ends = await admin.offsetsOf(main);
  return ends.reduce((sum, { topic, partition, low, high }) => {
    const committed = commits.find((one) => one.topic === topic && one.partition === partition)?.offset;
    const next = committed === undefined || committed < low ? low : committed;
    return sum + (high > next ? high - next : 0n);
  }, 0n);
}
