import { binaryArray, type ElementType } from './binary-array.js';

/** One column of a multi-row statement: its name, its type, and where a row has it. */
export type Column<Row> = readonly [name: string, type: ElementType, value: (row: Row) => unknown];

/** `unnest($first::uuid[], …) with ordinality as alias(name, …, position)`. */
export function unnestColumns<Row>(alias: string, columns: readonly Column<Row>[], first = 1): string {
  const parameters = columns.map(([, type], index) => `$${first + index}::${type}[]`).join(', ');
  return `unnest(${parameters}) with ordinality as ${alias}(${columns.map(([name]) => name).join(', ')}, position)`;
}

/** The parameters for it: one array per column. */
export function columnValues<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Buffer[] {
  return columns.map(([, type, value]) => binaryArray(type, rows.map(value)));
}
