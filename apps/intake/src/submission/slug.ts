/** What is a slug already, as most forms send it. */
const made = /^[a-z\d]+(?:-[a-z\d]+)*$/;

/**
 * Form and campaign as events, routing and fingerprints know them: letters and digits of any script in lower case, everything else one hyphen.
 * Text without a letter or digit has no slug ('').
 */
export function slug(text: string): string {
  if (made.test(text)) return text;
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.join('-');
}
