import { v7 } from 'uuid';
import type { ReplayFacts } from '#delivery';
import type { Sql } from '#runtime';
import { factsOf } from '../batches/facts.js';
import type { BatchTools } from '../batches/tools.js';
import type { OwningService } from '../dead-letters/letter.js';
import type { RepairPlan } from './repair-plan.js';
import type { DiscrepancyItem } from './shapes.js';

/** One delivery with all that is to be repaired of it. */
export interface Listed {
  itemId: string;
  position: number;
  event_id: string;
  destination: string;
  service: OwningService;
  organization?: string;
  discrepancies: DiscrepancyItem[];
  facts?: ReplayFacts;
  /** Absent: what it is about is tried again from its letter. */
  plan?: RepairPlan;
  letter?: Letter;
}

type Named = Pick<Listed, 'event_id' | 'destination' | 'service' | 'organization' | 'discrepancies' | 'letter'>;

interface Letter {
  dead_letter_id: string;
  event_id: string;
  destination: string;
  class: string;
  deadline_at: Date | null;
}

/** The deliveries that are to be repaired, each once. `untold`: discrepancies of which nobody can be told. Rejects while an owner does not answer. */
export async function listRepairs(
  { db, replays }: Pick<BatchTools, 'db' | 'replays'>,
  found: readonly DiscrepancyItem[],
): Promise<{ listed: Listed[]; untold: number }> {
  const untold = found.filter(({ repair }) => repair === 'tell');
  const messages = await messagesOf(db, untold);
  const told = new Set(messages.flatMap(({ discrepancies }) => discrepancies));
  const named = [...deliveriesOf(found.filter(({ repair }) => repair !== 'tell')), ...messages];
  const facts = await factsOf(replays, named);
  const listed = named.map((one, index): Listed => {
    const own = facts[index];
    const item = { ...one, itemId: v7(), position: index + 1, facts: own };
    return one.letter === undefined ? { ...item, plan: planOf(one.discrepancies, own) } : item;
  });
  return { listed, untold: untold.length - told.size };
}

function deliveriesOf(found: readonly DiscrepancyItem[]): Named[] {
  const deliveries = new Map<string, Named>();
  for (const one of found) {
    const { event_id = '', destination, organization } = one;
    const key = `${event_id} ${destination}`;
    const own = deliveries.get(key) ?? { event_id, destination, service: 'crm-writer', organization, discrepancies: [] };
    deliveries.set(key, { ...own, discrepancies: [...own.discrepancies, one] });
  }
  return [...deliveries.values()];
}

const lettersSql = `
SELECT DISTINCT ON (event_id, destination) dead_letter_id, event_id, destination, class, deadline_at FROM dead_letter
WHERE state = 'open' AND service = 'notifier' AND event_id = ANY ($1::uuid[]) AND destination LIKE 'lead/%'
ORDER BY event_id, destination, dead_at DESC`;

/** Messages about leads that were given up: sent again from their letter, under their own key, each is told once at most. */
async function messagesOf(db: Sql, untold: readonly DiscrepancyItem[]): Promise<Named[]> {
  if (untold.length === 0) return [];
  const letters = await db.sql<Letter>('operator.untold_letters', lettersSql, [untold.map(({ event_id }) => event_id)]);
  return letters.map((letter): Named => {
    const { event_id, destination } = letter;
    const own = untold.filter((one) => one.event_id === event_id);
    return { event_id, destination, service: 'notifier', organization: own[0]?.organization, discrepancies: own, letter };
  });
}

/** One step for each operation: what is not there is made, whatever else is said of it. */
export function planOf(discrepancies: readonly DiscrepancyItem[], facts: ReplayFacts | undefined): RepairPlan {
  const steps = new Map<string, RepairPlan['steps'][number]>();
  for (const { discrepancy_id, operation_key, kind = '', repair, ref, evidence } of discrepancies) {
    const operation = facts?.operations.find(
      (one) => one.operation_key === operation_key || (operation_key === undefined && one.kind === kind),
    );
    const key = operation?.operation_key ?? operation_key ?? kind;
    if (repair === undefined || repair === 'tell' || steps.get(key)?.repair === 'create') continue;
    const known = operation?.ref ?? ref;
    steps.set(key, {
      discrepancy_id,
      operation_key: key,
      kind: operation?.kind ?? kind,
      repair,
      ...(known !== undefined && { ref: known }),
      ...(repair === 'update' && { compared: comparedOf(evidence) }),
    });
  }
  return { generation: facts?.generation ?? 1, steps: [...steps.values()] };
}

function comparedOf({ version, changed_at }: DiscrepancyItem['evidence']): RepairPlan['steps'][number]['compared'] {
  return { ...(typeof version === 'string' && { version }), ...(typeof changed_at === 'string' && { changed_at }) };
}
