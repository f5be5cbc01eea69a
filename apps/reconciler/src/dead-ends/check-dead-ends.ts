import type { DeliveryStateItem, StatesAnswer, UnresolvedAnswer, UnresolvedItem } from '#delivery';
import type { InternalClient } from '#runtime';
import type { Finding } from '../compare/finding.js';

/** A dead letter as far as this needs it, from operator's POST /internal/v1/dead-letters:list. */
export interface LetterItem {
  service: string;
  event_id: string | null;
  destination: string | null;
  lead_ref: string | null;
  organization: string | null;
  class: string;
  state: string;
  dead_at: string;
}

export interface DeadEndSources {
  operator: Pick<InternalClient, 'post'>;
  /** Services that own deliveries, by name. */
  owners: ReadonlyMap<string, Pick<InternalClient, 'post'>>;
}

export interface DeadEnd extends Finding {
  destination: string;
}

/** A dead letter, or its end, may be under way for this long: also until the operator has fetched what never arrived. */
const underWayMs = 120_000;

const unresolvedStates: readonly string[] = ['dead', 'expired', 'uncertain'];
/** Ids in one request of each, by the contracts of the internal APIs. */
const perPage = 200;

/**
 * Every delivery that a person is to decide about against the dead letters, and every open dead letter against its delivery. Throws
 * InternalUnavailable where a service does not answer: then nothing is said of any.
 */
export async function checkDeadEnds(sources: DeadEndSources, nowMs: number): Promise<DeadEnd[]> {
  const ends: DeadEnd[] = [];
  for (const [service, owner] of sources.owners) {
    let after: string | undefined;
    do {
      const page: UnresolvedAnswer = await owner.post('/internal/v1/deliveries:unresolved', { limit: perPage, ...(after && { after }) });
      ends.push(...(await withoutLetter(sources, { service, items: page.items, nowMs })));
      after = page.next;
    } while (after !== undefined);
  }
  return [...ends, ...(await lettersWithoutState(sources, nowMs))];
}

async function withoutLetter(
  { operator }: DeadEndSources,
  { service, items, nowMs }: { service: string; items: readonly UnresolvedItem[]; nowMs: number },
): Promise<DeadEnd[]> {
  const old = items.filter(({ since }) => Date.parse(since) + underWayMs < nowMs);
  if (old.length === 0) return [];
  const letters = await lettersOf(operator, [...new Set(old.map(({ event_id }) => event_id))]);
  const known = new Set(letters.map(({ service: of, event_id, destination }) => JSON.stringify([of, event_id, destination])));
  return old
    .filter(({ event_id, destination }) => !known.has(JSON.stringify([service, event_id, destination])))
    .map((item) => ({
      class: 'dead_end' as const,
      aspect: 'without_letter' as const,
      destination: item.destination,
      eventId: item.event_id,
      leadRef: item.lead_ref,
      evidence: { service, state: item.state, since: item.since },
      atMs: Date.parse(item.submitted_at),
    }));
}

/** All letters of these events, whatever became of them. */
async function lettersOf(operator: Pick<InternalClient, 'post'>, eventIds: readonly string[]): Promise<LetterItem[]> {
  return allLetters(operator, { event_ids: eventIds, state: 'any' });
}

async function allLetters(operator: Pick<InternalClient, 'post'>, filter: Record<string, unknown>): Promise<LetterItem[]> {
  const letters: LetterItem[] = [];
  for await (const page of letterPages(operator, filter)) letters.push(...page);
  return letters;
}

async function* letterPages(operator: Pick<InternalClient, 'post'>, filter: Record<string, unknown>): AsyncGenerator<LetterItem[]> {
  let after: string | undefined;
  do {
    const page = await operator.post<{ items: LetterItem[]; next?: string }>('/internal/v1/dead-letters:list', {
      ...filter,
      limit: perPage,
      ...(after && { after }),
    });
    yield page.items;
    after = page.next;
  } while (after !== undefined);
}

async function lettersWithoutState({ operator, owners }: DeadEndSources, nowMs: number): Promise<DeadEnd[]> {
  const ends: DeadEnd[] = [];
  for await (const page of letterPages(operator, { state: 'open' })) {
    for (const [service, owner] of owners) {
      const letters = page.filter((letter): letter is LetterItem & { event_id: string; destination: string } => {
        const isOld = Date.parse(letter.dead_at) + underWayMs < nowMs;
        return letter.service === service && isOld && letter.event_id !== null && letter.destination !== null;
      });
      if (letters.length === 0) continue;
      const states = await statesOf(owner, letters);
      ends.push(...letters.filter((letter) => isEnded(states.get(JSON.stringify([letter.event_id, letter.destination])))).map(toEnd));
    }
  }
  return ends;
}

async function statesOf(
  owner: Pick<InternalClient, 'post'>,
  letters: readonly { event_id: string; destination: string }[],
): Promise<Map<string, DeliveryStateItem>> {
  const items = letters.map(({ event_id, destination }) => ({ event_id, destination }));
  const answer = await owner.post<StatesAnswer>('/internal/v1/deliveries:state', { items });
  return new Map(
    answer.items.flatMap(({ event_id, deliveries }) =>
      deliveries.map((delivery) => [JSON.stringify([event_id, delivery.destination]), delivery] as const),
    ),
  );
}

/** What is at work, waits or is held belongs to an approved item that is under way: its letter is open until that has ended. */
function isEnded(delivery: DeliveryStateItem | undefined): boolean {
  if (delivery === undefined) return true;
  return !unresolvedStates.includes(delivery.state) && ['delivered', 'discarded', 'erased'].includes(delivery.state);
}

function toEnd(letter: LetterItem & { event_id: string; destination: string }): DeadEnd {
  return {
    class: 'dead_end',
    aspect: 'letter_without_state',
    destination: letter.destination,
    eventId: letter.event_id,
    leadRef: letter.lead_ref ?? undefined,
    organization: letter.organization ?? undefined,
    evidence: { service: letter.service, letter_class: letter.class, dead_at: letter.dead_at },
    atMs: Date.parse(letter.dead_at),
  };
}
