import { personKeyChars, type WindowAnswer, type WindowItem, type WindowRequest, windowLimit } from '#delivery';

/** What an owner answers to a page, or to so many named events or persons. */
export type AskWindow = (asked: WindowRequest) => Promise<WindowAnswer>;

/** Calls `ask` with `most` of them at a time, one part after another. Nothing is asked about nothing. */
export async function inParts<I, O>(items: readonly I[], most: number, ask: (part: I[]) => Promise<readonly O[]>): Promise<O[]> {
  const answers: O[] = [];
  for (let at = 0; at < items.length; at += most) answers.push(...(await ask(items.slice(at, at + most))));
  return answers;
}

/**
 * Asks an owner for its deliveries, of however many named events or persons: a page of a destination's changes is as long as the destination
 * makes it, and stands under keys that anybody may have typed. What cannot be a person's key finds nothing, and is not asked for. Of more than
 * one part only the items of each are oldest first.
 */
export async function askInParts(ask: AskWindow, asked: WindowRequest): Promise<WindowAnswer> {
  const { event_ids: eventIds, person_keys: personKeys, ...rest } = asked;
  const itemsOf = async (named: Partial<WindowRequest>): Promise<WindowItem[]> => (await ask({ ...rest, ...named })).items;
  if (eventIds !== undefined) return { items: await inParts(eventIds, windowLimit, (ids) => itemsOf({ event_ids: ids })) };
  if (personKeys === undefined) return ask(asked);
  return { items: await inParts(personKeys.filter(mayBePersonKey), windowLimit, (keys) => itemsOf({ person_keys: keys })) };
}

/** PostgreSQL holds no NUL in a text. */
const mayBePersonKey = (key: string): boolean => key !== '' && key.length <= personKeyChars && !key.includes('\0');
