import { describe, expect, it } from '@jest/globals';
import { mergeRows, type PageRow, pageText, readRows } from './page.js';
import type { BenchReport, BenchResult } from './report.js';

const benches = ['relay', 'consumer', 'idle'];
const at = '2026-12-02 at abc1234';
const result = (what: string, ours = 2_500): BenchResult => ({ what, unit: 'rows/s', ours });
const row = (bench: string, what: string, more: Partial<PageRow> = {}): PageRow => ({
  bench,
  what,
  ours: '1,000 rows/s',
  baseline: '',
  ratio: '',
  goal: '',
  note: '',
  measured: '2026-11-30 at 1111111',
  ...more,
});
const merged = (kept: PageRow[], ...reports: BenchReport[]): [string, string, string, string][] =>
  mergeRows(
    kept,
    reports.map((report) => ({ report, at })),
    benches,
  ).map(({ bench, what, ours, measured }) => [bench, what, ours, measured]);

describe('the page of benchmarks after a run', () => {
  it('keeps the rows of the benchmarks that did not run, with their day and commit, in the order of the benchmarks', () => {
    const kept = [row('idle', 'memory'), row('relay', 'one'), row('relay', 'two')];
    expect(merged(kept, { bench: 'consumer', results: [result('fast')] })).toEqual([
      ['relay', 'one', '1,000 rows/s', '2026-11-30 at 1111111'],
      ['relay', 'two', '1,000 rows/s', '2026-11-30 at 1111111'],
      ['consumer', 'fast', '2,500 rows/s', at],
      ['idle', 'memory', '1,000 rows/s', '2026-11-30 at 1111111'],
    ]);
  });

  it('has of a benchmark that ran what it measured now, and nothing under a name that it had before', () => {
    const kept = [row('relay', '100 rows'), row('relay', 'drained')];
    expect(merged(kept, { bench: 'relay', results: [result('200 rows'), result('drained')] })).toEqual([
      ['relay', '200 rows', '2,500 rows/s', at],
      ['relay', 'drained', '2,500 rows/s', at],
    ]);
  });

  it('keeps what a benchmark left out, where it stood, and has new rows behind', () => {
    const kept = [row('relay', 'one'), row('relay', 'two')];
    expect(merged(kept, { bench: 'relay', partial: true, results: [result('three'), result('two')] })).toEqual([
      ['relay', 'one', '1,000 rows/s', '2026-11-30 at 1111111'],
      ['relay', 'two', '2,500 rows/s', at],
      ['relay', 'three', '2,500 rows/s', at],
    ]);
  });

  it('loses the rows of a benchmark that there is no more', () => {
    expect(merged([row('gone', 'one')])).toEqual([]);
  });

  it('is read back as it was written, whatever its cells hold', () => {
    const rows = [row('relay', 'a | b', { baseline: '12', ratio: '0.50', goal: '>= 2', note: 'p99 | 3 ms' }), row('idle', 'memory')];
    expect(readRows(pageText(rows, 'on 2026-12-02: 2 cores'))).toEqual(rows);
  });

  it('dates the rows of a page that had no day of its own in its rows', () => {
    const page = [
      'Written by `npm run bench` on 2026-11-29: 2 cores.',
      '',
      '| benchmark | what | ours | baseline | ratio | goal | note |',
      '|---|---|---|---|---|---|---|',
      '| relay | rows | 5 rows/s | 4 | 1.25 | >= 1 | slow |',
    ].join('\n');
    expect(readRows(page)).toEqual([
      { ...row('relay', 'rows'), ours: '5 rows/s', baseline: '4', ratio: '1.25', goal: '>= 1', note: 'slow', measured: '2026-11-29' },
    ]);
  });

  it('has no rows when there is no page yet', () => {
    expect(readRows('')).toEqual([]);
  });
});
