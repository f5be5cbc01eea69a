import { leakForms, plantedValues } from './planted.js';

/** A piece of what the system wrote: where it stands, and its bytes as written (decompressed). */
export interface Written {
  readonly where: string;
  readonly bytes: Buffer;
}

export interface Leak {
  readonly where: string;
  /** Index of the planted value, never the value itself: a report must not become a leak. */
  readonly value: number;
  readonly form: number;
}

const needles = plantedValues.flatMap((value, index) =>
  leakForms(value).map((form, at) => ({ value: index, form: at, bytes: Buffer.from(form) })),
);

/** Looks for every form of every planted value in one piece; at most one leak per value and form. */
export function findLeaks({ where, bytes }: Written): Leak[] {
  return needles.filter((needle) => bytes.includes(needle.bytes)).map(({ value, form }) => ({ where, value, form }));
}

/** Scans everything that a source yields; returns the leaks and how much was read, so that an empty source cannot pass unnoticed. */
export async function scan(written: AsyncIterable<Written>): Promise<{ leaks: Leak[]; pieces: number; bytes: number }> {
  const leaks: Leak[] = [];
  let pieces = 0;
  let bytes = 0;
  let pending: Written[] = [];
  let pendingBytes = 0;
  const flush = (): void => {
    // Many small pieces are searched as one block first: a search costs the same set-up for a row as for a megabyte.
    const block = Buffer.concat(pending.flatMap((piece) => [piece.bytes, separator]));
    if (findLeaks({ where: '', bytes: block }).length > 0) leaks.push(...pending.flatMap(findLeaks));
    pending = [];
    pendingBytes = 0;
  };
  for await (const piece of written) {
    pieces += 1;
    bytes += piece.bytes.length;
    pending.push(piece);
    pendingBytes += piece.bytes.length;
    if (pendingBytes > 4_000_000) flush();
  }
  flush();
  return { leaks, pieces, bytes };
}

const separator = Buffer.from([0]);
