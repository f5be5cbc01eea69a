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
  /** Why nobody need decide on it any more; null while it is open. */
  closed_as: string | null;
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

/** In these nobody need decide about a delivery any more. */
const endedStates: readonly string[] = ['delivered', 'discarded', 'erased'];
/** What a person closed is settled though its delivery is as it was; what closed by itself tells of an earlier round of the delivery. */
const closedByPerson: readonly (string | null)[] = ['dismissed', 'row_gone', 'destination_removed'];
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
      ends.push(...(await withoutLetter(sources, { service, owner, items: page.items, nowMs })));
      after = page.next;
    } while (after !== undefined);
  }
  return [...ends, ...(await lettersWithoutState(sources, nowMs))];
}

async function withoutLetter(
  { operator }: DeadEndSources,
  {
    service,
    owner,
    items,
    nowMs,
  }: { service: string; owner: Pick<InternalClient, 'post'>; items: readonly UnresolvedItem[]; nowMs: number },
): Promise<DeadEnd[]> {
  const old = items.filter(({ since }) => Date.parse(since) + underWayMs < nowMs);
  if (old.length === 0) return [];
  const letters = await lettersOf(operator, [...new Set(old.map(({ event_id }) => event_id))]);
  const asked = letters.filter(asksNow);
  const known = new Set(asked.filter(isAboutDelivery).map((letter) => nameOf(letter.service, letter)));
  const sought = new Set(asked.filter((letter) => !isAboutDelivery(letter)).map((letter) => nameOf(letter.service, letter)));
  const ownerless = old.filter((item) => !isAboutDelivery(item) && !sought.has(nameOf(service, item)));
  const missed = old.filter((item) => isAboutDelivery(item) && !known.has(nameOf(service, item)));
  const states = missed.length === 0 ? new Map<string, DeliveryStateItem>() : await statesOf(service, owner, missed);
  return [...ownerless, ...missed.filter((item) => isAsItWas(item, states.get(nameOf(service, item))))].map((item) => ({
    class: 'dead_end' as const,
    aspect: 'without_letter' as const,
    destination: item.destination,
    eventId: item.event_id,
    leadRef: item.lead_ref,
    evidence: { service, state: item.state, since: item.since },
    atMs: Date.parse(item.submitted_at),
  }));
}

/** Whether somebody is asked by it, or has answered. */
const asksNow = (letter: LetterItem): boolean => letter.state === 'open' || closedByPerson.includes(letter.closed_as);

/** A lead without an owner has a letter although its message arrived: that asks for its owner, and says nothing of the delivery. */
const isAboutDelivery = ({ class: failure }: { class?: string }): boolean => failure !== 'unknown_owner';

/** Between the two questions it may have gone on, and its letter may have closed with it. */
const isAsItWas = ({ state, deadline_at }: UnresolvedItem, now: DeliveryStateItem | undefined): boolean =>
  now !== undefined && now.state === state && Date.parse(now.deadline_at) === Date.parse(deadline_at);

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
        return letter.service === service && isOld && isAboutDelivery(letter) && letter.event_id !== null && letter.destination !== null;
      });
      if (letters.length === 0) continue;
      const states = await statesOf(service, owner, letters);
      ends.push(...letters.filter((letter) => isEnded(states.get(nameOf(service, letter)))).map(toEnd));
    }
  }
  return ends;
}

async function statesOf(
  service: string,
  owner: Pick<InternalClient, 'post'>,
  letters: readonly { event_id: string; destination: string }[],
): Promise<Map<string, DeliveryStateItem>> {
  const items = letters.map(({ event_id, destination }) => ({ event_id, destination }));
  const answer = await owner.post<StatesAnswer>('/internal/v1/deliveries:state', { items });
  return new Map(
    answer.items.flatMap(({ event_id, deliveries }) =>
      deliveries.map((delivery) => [nameOf(service, { event_id, destination: delivery.destination }), delivery] as const),
    ),
  );
}

const nameOf = (service: string, { event_id, destination }: { event_id: string | null; destination: string | null }): string =>
  JSON.stringify([service, event_id, destination]);

/** What is at work, waits or is held belongs to an approved item that is under way: its letter is open until that has ended. */
const isEnded = (delivery: DeliveryStateItem | undefined): boolean => delivery === undefined || endedStates.includes(delivery.state);

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
