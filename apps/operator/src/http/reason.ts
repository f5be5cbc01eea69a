import { z } from 'zod';

const uuids = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;
const times = /\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?)?/g;
const address = /[^\s@]+@[^\s@]+\.[^\s@]/;
/** Nine digits or more, as people write a number; not the end of a ticket's id. */
const phone = /(?<![\w-])\+?\(?\d(?:[\s()./-]{0,2}\d){8,}/;

/** Whether the text shows an e-mail address or a phone number. Ids and times are none. */
export function showsContact(text: string): boolean {
  const rest = text.replaceAll(uuids, ' ').replaceAll(times, ' ');
  return address.test(rest) || phone.test(rest);
}

/**
 * A text from one colleague to another, such as a reason or a note. It is kept longer than any lead (the audit is never deleted), so that it must not
 * carry what would have to be erased with one.
 */
export const colleagueText = (maxLength = 500) =>
  z
    .string()
    .trim()
    .min(1)
    .max(maxLength)
    .refine((text) => !showsContact(text), {
      params: {
        problem: 'shows an e-mail address or a phone number',
        fix: 'Name the lead by its id: this text is kept when the lead is erased',
      },
    })
    .describe('For colleagues; no addresses or numbers of leads.');

/** Why somebody does what cannot be undone unseen. */
export const reason = colleagueText();
