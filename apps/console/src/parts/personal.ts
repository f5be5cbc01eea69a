const email = /[^\s@]@[^\s@]+\.\p{L}{2}/u;
/** Nine digits or more, seven after a plus, as people write numbers; none inside a word or an id. */
const phone = /(?<![\p{L}\p{N}_#-])(?:\(?\+(?:[\s()./-]{0,2}\d){7,}|\(?\d(?:[\s()./-]{0,2}\d){8,})(?![\p{L}\p{N}_-])/u;
/** Ids and times may have as many digits as a phone number. */
const ids = /\p{L}?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?/giu;

/** Whether a text looks like an e-mail address or a phone number, by the rule that the API has for reasons. */
export function looksPersonal(text: string): boolean {
  const plain = text.normalize('NFKC').replace(ids, ' ; ');
  return email.test(plain) || phone.test(plain);
}

/** What to do instead of filtering by it. */
export const searchBoxInstead =
  'This looks like an address or a number of a person, and a filter stands in the address: use the search box.';
