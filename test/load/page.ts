import type { BenchReport, BenchResult } from './report.js';

/** One line of docs/benchmarks.md: the cells as they stand there. */
export interface PageRow {
  bench: string;
  what: string;
  ours: string;
  baseline: string;
  ratio: string;
  goal: string;
  note: string;
  /** Day and commit. */
  measured: string;
}

const columns = ['bench', 'what', 'ours', 'baseline', 'ratio', 'goal', 'note', 'measured'] as const;

/** A figure as people read it: three digits, or whole from 100 on. */
export function format(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

/** The rows of a report that was measured at `measured`. */
export function rowsOf({ bench, results }: BenchReport, measured: string): PageRow[] {
  return results.map(({ what, ours, unit, baseline, ratio, goal, note }: BenchResult) => ({
    bench,
    what,
    ours: `${format(ours)} ${unit}`,
    baseline: baseline === undefined ? '' : format(baseline),
    ratio: ratio === undefined ? '' : ratio.toFixed(2),
    goal: goal ?? '',
    note: note ?? '',
    measured,
  }));
}

/** The rows of a page that was written before; none of a text that has no such table. A row without its day has the one of the page. */
export function readRows(page: string): PageRow[] {
  const dayOfPage = /\bon (\d{4}-\d{2}-\d{2})\b/.exec(page)?.[1] ?? '';
  const lines = page.split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(1).map((line) => {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
    const [, bench = '', what = '', ours = '', baseline = '', ratio = '', goal = '', note = '', measured = ''] = cells;
    return { bench, what, ours, baseline, ratio, goal, note, measured: measured === '' ? dayOfPage : measured };
  });
}

/**
 * The rows of the page after a run: a benchmark that ran has the rows of its report alone, or, where it ran in part, those in place of its rows of
 * the same name. Every other row stays as it is. In the order of `benches`; what none of them measures any more is left out.
 */
export function mergeRows(kept: readonly PageRow[], reports: readonly MeasuredReport[], benches: readonly string[]): PageRow[] {
  return benches.flatMap((bench) => {
    const own = kept.filter((row) => row.bench === bench);
    const measured = reports.find(({ report }) => report.bench === bench);
    if (measured === undefined) return own;
    const fresh = rowsOf(measured.report, measured.at);
    if (measured.report.partial !== true) return fresh;
    const replaced = own.map((row) => fresh.find(({ what }) => what === row.what) ?? row);
    return [...replaced, ...fresh.filter((row) => !replaced.includes(row))];
  });
}

export interface MeasuredReport {
  report: BenchReport;
  /** Day and commit. */
  at: string;
}

/** The whole page. `run` tells of the machine and of the last run. */
export function pageText(rows: readonly PageRow[], run: string): string {
  const lines = rows.map((row) => `| ${columns.map((column) => row[column].replaceAll('|', '\\|')).join(' | ')} |`);
  return `# Benchmarks

Written by \`npm run bench\`; the last run ${run}.
Each figure is the median of five, interleaved with its baseline in the same run. Ratios travel between machines; absolute figures do not. The baselines are in \`test/load\` at their best flags. A row says when and at which commit it was measured, \`+\` for one with changes that were not committed.

The Spring Kafka batch service (\`test/load/spring-peer\`, built with Maven when the benchmark first runs) is what a team would write for this work on Spring Boot and tune: a batch listener with one consumer for each partition; one statement that claims a batch in an inbox; a call for each lead through the JDK's HTTP client on virtual threads, over connections that are kept, with an \`Idempotency-Key\` and as many in flight as ours; one transaction that records the outcomes of a batch with an announcement \`lead.resolved\` for each in an outbox; then the acknowledgement of the batch. It has the same Kafka, PostgreSQL and CRM, drains the same records right after ours, and its first drains are not counted. It does less, all to its advantage: it does not read personal data from the vault (every lead is sent as the same person), does not sign its calls, has no leases, attempt log, retry tiers, dead letters, deadlines, metrics or traces, knows one version of each schema without a registry, and does not publish its outbox (ours does, within its figures). A call that fails repeats its batch.

| benchmark | what | ours | baseline | ratio | goal | note | measured |
|---|---|---|---|---|---|---|---|
${lines.join('\n')}
`;
}
