import { z } from 'zod';

const email = /[^\s@]@[^\s@]+\.\p{L}{2}/u;
/** Nine digits or more, seven after a plus, as people write numbers; none inside a word, an id or a number with a `#` before it. */
const phone = /(?<![\p{L}\p{N}_#-])(?:\(?\+(?:[\s()./-]{0,2}\d){7,}|\(?\d(?:[\s()./-]{0,2}\d){8,})(?![\p{L}\p{N}_-])/u;
/** Ids and times may stand there, and have as many digits as a phone number. */
const ids = /\p{L}?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?/giu;

function looksPersonal(text: string): boolean {
  const plain = text.normalize('NFKC').replace(ids, ' ; ');
  return email.test(plain) || phone.test(plain);
}

/**
 * Why a person decided something, as it was typed, trimmed; up to 500 characters. It is kept for as long as the audit, so text that looks like
 * an e-mail address or a phone number is refused. Names cannot be told from other words.
 */
export const reasonText = z
  .string()
  .trim()
  .max(500)
  .refine((text) => !looksPersonal(text), {
    params: {
      problem: 'holds what looks like an e-mail address or a phone number',
      fix: 'Leave it out, it would be kept for good; name the lead by its reference (L-…)',
    },
  })
  .describe('For colleagues; no addresses or numbers of leads: it is kept for good.');

/** Why a command is given. Of a hold it is shown beside the destination: shorter than other reasons. */
export const commandReason = reasonText.min(1).max(200);
