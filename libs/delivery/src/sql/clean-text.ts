/** Longest reference, code or request id that is kept. */
const maxLength = 200;
/** Printable ASCII, as nearly every text of a provider is. */
const plain = /^[\x20-\x7e]*$/;

/** Text of a provider as SQL and logs can hold it: well formed, without control characters, cut. */
export function cleanText(text: string): string {
  if (text.length <= maxLength && plain.test(text)) return text;
  const cut = text.length > maxLength ? text.slice(0, maxLength) : text;
  // Through UTF-8, which has no lone surrogates: a cut through an emoji leaves a replacement character.
  const wellFormed = Buffer.from(cut).toString();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  return wellFormed.replace(/[\u0000-\u001f\u007f]+/g, ' ');
}

/** The same for what may be absent; an empty text is absent. */
export function cleanOptional(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : cleanText(text);
}
