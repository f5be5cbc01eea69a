import { Needles } from './needles.js';
import { plantedValues } from './planted.js';

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

export interface Scanned {
  readonly leaks: Leak[];
  /** How much was read, so that an empty source cannot pass unnoticed. */
  readonly pieces: number;
  readonly bytes: number;
}

/** Looks for every form of every planted value in everything that a source yields; at most one leak per piece, value and form. */
export async function scan(written: AsyncIterable<Written>, needles = new Needles(plantedValues())): Promise<Scanned> {
  const leaks: Leak[] = [];
  let pieces = 0;
  let bytes = 0;
  for await (const piece of written) {
    pieces += 1;
    bytes += piece.bytes.length;
    for (const found of needles.find(piece.bytes)) leaks.push({ where: piece.where, ...found });
  }
  return { leaks, pieces, bytes };
}
