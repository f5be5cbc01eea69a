/** One line of a table; the keys are the columns. */
export type Line = Record<string, string | number | boolean>;

/** How results are printed, on standard output. What goes wrong goes to standard error, as text. */
export interface Output {
  /** `empty` stands where there is no line. With --json: one JSON document. */
  table(lines: readonly Line[], empty: string): void;
  /**
   * One result: its lines as a table. With --json: the document itself, indented, or on one line where others follow it (NDJSON). Default:
   * indented.
   */
  document(value: object, lines: readonly Line[], form?: 'indented' | 'line'): void;
}

/** Prints tables, or with `json` documents, to `write` (default: standard output). */
export function createOutput(json: boolean, write: (text: string) => void = (text) => process.stdout.write(text)): Output {
  const print = (value: unknown, lines: readonly Line[], { empty = '', indent = 2 }: { empty?: string; indent?: number }): void =>
    write(json ? `${JSON.stringify(value, null, indent)}\n` : `${lines.length === 0 ? empty : textTable(lines)}\n`);
  return {
    table: (lines, empty) => print(lines, lines, { empty }),
    document: (value, lines, form) => print(value, lines, { indent: form === 'line' ? 0 : 2 }),
  };
}

/** Columns as wide as their longest cell, the last one without padding. */
function textTable(lines: readonly Line[]): string {
  const columns = [...new Set(lines.flatMap((line) => Object.keys(line)))];
  const cells = [
    columns.map((column) => column.toUpperCase()),
    ...lines.map((line) => columns.map((column) => String(line[column] ?? ''))),
  ];
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
