import { writeFileSync } from 'node:fs';

export interface BenchResult {
  /** What is measured, in words, with the size and the settings that matter. */
  what: string;
  unit: string;
  /** Median of the samples. */
  ours: number;
  baseline?: number;
  /** ours / baseline, or the other way round where less is better; always "more is better for us". */
  ratio?: number;
  goal?: string;
  note?: string;
  samples?: { ours: number[]; baseline?: number[] };
}

export interface BenchReport {
  bench: string;
  /** The run was told to leave some of its measurements out: what it did not measure stays on the page. */
  partial?: boolean;
  results: BenchResult[];
}

/** Writes a benchmark's report where `npm run bench` asked for it (first argument), and prints it otherwise. */
export function writeReport(report: BenchReport): void {
  const [, , file] = process.argv;
  const text = JSON.stringify(report, null, 2);
  if (file) writeFileSync(file, text);
  else console.log(text);
}

/** The middle one of the samples (the lower of two). */
export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}
