import { leakForms, shortestPlanted } from './planted.js';

interface Needle {
  /** Index of the planted value. */
  readonly value: number;
  /** Index of its form. */
  readonly form: number;
  readonly bytes: Buffer;
}

/** Bytes that are looked up at once, and the distance of two look-ups: no needle is so short that it fits between two of them. */
const gramBytes = 4;
const stride = shortestPlanted - gramBytes + 1;

/**
 * All forms of all values, searched for in one pass: a search for each of them alone would read what a stack wrote hundreds of times. Every needle
 * is at least `shortestPlanted` bytes long, so one of its first `stride` four-byte pieces lies where the text is looked at.
 */
export class Needles {
  private readonly needles: Needle[];
  private readonly grams = new Map<number, { needle: Needle; at: number }[]>();
  /** Which hashes of four bytes occur in `grams`: answers nearly every look-up with no. */
  private readonly seen = new Uint8Array(1 << 20);

  constructor(values: readonly string[]) {
    this.needles = values.flatMap((value, index) => leakForms(value).map((bytes, form) => ({ value: index, form, bytes })));
    for (const needle of this.needles) for (let at = 0; at < stride; at += 1) this.add(needle, at);
  }

  /** The needles that occur in the text, each once. */
  find(text: Buffer): { value: number; form: number }[] {
    const { seen } = this;
    const found = new Set<Needle>();
    for (let at = 0; at + gramBytes <= text.length; at += stride) {
      const gram = gramAt(text, at);
      if (seen[hash(gram)] === 0) continue;
      for (const { needle, at: inNeedle } of this.grams.get(gram) ?? []) if (standsAt(text, at - inNeedle, needle.bytes)) found.add(needle);
    }
    return [...found].map(({ value, form }) => ({ value, form }));
  }

  private add(needle: Needle, at: number): void {
    if (needle.bytes.length < shortestPlanted) throw new Error(`form ${needle.form} is too short to be found`);
    const gram = gramAt(needle.bytes, at);
    const places = this.grams.get(gram) ?? [];
    places.push({ needle, at });
    this.grams.set(gram, places);
    this.seen[hash(gram)] = 1;
  }
}

/** Taken out of the global once: inside a test every look at a global is slow, and these run for every few bytes. */
const { imul } = Math;
const hash = (gram: number): number => imul(gram, 0x9e3779b1) >>> 12;

function gramAt(bytes: Buffer, at: number): number {
  return (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 24);
}

function standsAt(text: Buffer, start: number, needle: Buffer): boolean {
  const end = start + needle.length;
  return start >= 0 && end <= text.length && text.compare(needle, 0, needle.length, start, end) === 0;
}
