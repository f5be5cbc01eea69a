/** What is read of a row, by name; the same names are expected. */
export type Facts = Readonly<Record<string, string | number>>;

/** True when both name the same facts with the same values. */
export function equalFacts(expected: Facts, actual: Facts): boolean {
  const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
  return [...names].every((name) => expected[name] === actual[name]);
}

const titles: Readonly<Record<string, string>> = { not_run: 'could not run:', earlier: 'after it had been:' };

/** `delivered, records 1, requests 2`: the fact `outcome` stands without its name. */
export function showFacts(facts: Facts): string {
  return Object.entries(facts)
    .map(([name, value]) => (name === 'outcome' ? `${value}` : `${titles[name] ?? name.replaceAll('_', ' ')} ${value}`))
    .join(', ');
}

/** `3 delivered, 1 dead (permanent)`; a single one without its number. */
export function tally(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  if (words.length === 1) return words[0] ?? '';
  return [...counts]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([word, count]) => `${count} ${word}`)
    .join(', ');
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** `at most N` where the figure keeps to it, else the figure. */
export const atMost = (limit: number, figure: number): string | number => (figure <= limit ? `at most ${limit}` : figure);
