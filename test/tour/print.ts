import { showFacts } from './facts.js';
import type { RowResult, TourListener } from './run-tour.js';
import type { BalanceReport } from './world.js';

type Paint = (text: string) => string;

interface Paints {
  green: Paint;
  red: Paint;
  grey: Paint;
}

const plain: Paints = { green: (text) => text, red: (text) => text, grey: (text) => text };
const sgr =
  (code: number): Paint =>
  (text) =>
    `\u001B[${code}m${text}\u001B[0m`;
const colours: Paints = { green: sgr(32), red: sgr(31), grey: sgr(90) };

/** Colours on a terminal only, and not where NO_COLOR is set. */
export const paintsFor = (isTerminal: boolean, env: NodeJS.ProcessEnv = process.env): Paints =>
  isTerminal && !env.NO_COLOR ? colours : plain;

/** Tells each row as it ends, with the time since the tour began. */
export function progress(print: (line: string) => void, { green, red, grey }: Paints): TourListener {
  const startedAt = performance.now();
  const clock = (): string => grey(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s`);
  return {
    began: ({ id, fault, lane }) => {
      if (lane !== 'leads') print(`${clock()}        ${grey(`${id}: ${fault} …`)}`);
    },
    said: ({ id }, text) => print(`${clock()}        ${grey(`${id}: ${text}`)}`),
    ended: ({ id }, { ok, fault, actual }) =>
      print(`${clock()}  ${ok ? green('ok   ') : red('RED  ')} ${id}: ${fault} → ${showFacts(actual)}`),
  };
}

/** Expected and actual side by side, one line per row. */
export function resultTable(results: readonly RowResult[], { green, red }: Paints): string[] {
  const cells = results.map(({ id, hits, expected, actual, ok }) => ({
    ok,
    columns: [id, String(hits), showFacts(expected), ok ? 'the same' : reason(showFacts(actual), hits)],
  }));
  const head = ['row', 'hits', 'expected', 'actual'];
  const widths = head.map((title, at) => Math.max(title.length, ...cells.map(({ columns }) => columns[at]?.length ?? 0)));
  const line = (columns: readonly string[]): string =>
    columns
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  return [
    `     ${line(head)}`,
    `     ${widths
      .slice(0, 3)
      .map((width) => '-'.repeat(width))
      .join('  ')}  ------`,
    ...cells.map(({ ok, columns }) => `${ok ? green('ok  ') : red('RED ')} ${line(columns)}`),
  ];
}

const reason = (actual: string, hits: number): string => (hits > 0 ? actual : `${actual} (the fault was met by nobody)`);

/** The last lines: the books, and how many rows came out as they should. */
export function closing(results: readonly RowResult[], balance: BalanceReport, { green, red }: Paints): string[] {
  const good = results.filter(({ ok }) => ok).length;
  const bad = results.filter(({ ok }) => !ok).map(({ id }) => id);
  const verdict = `${good} of ${results.length} rows as expected`;
  return [
    `Balance: ${balance.balanced ? green('balanced') : red('NOT balanced')}, ${balance.summary}`,
    bad.length === 0 ? green(verdict) : red(`${verdict}; red: ${bad.join(', ')}`),
  ];
}
