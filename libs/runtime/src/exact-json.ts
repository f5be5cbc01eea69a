import { isUtf8 } from 'node:buffer';

/** A JSON number that a double cannot hold: its text, with every digit. */
export class ExactNumber {
  constructor(readonly text: string) {}
}

const byteOrderMark = /^\uFEFF/;
// A number token of 16 digits or more, or with an exponent. Without one, plain JSON.parse loses nothing.
const riskyNumber = /[:,[\s]-?(?:[\d.]{16}|[\d.]+[eE])/;

/**
 * Parses UTF-8 JSON without losing anything: a number beyond a double's precision becomes an ExactNumber. Gives the text with the value.
 * Throws SyntaxError for bytes that are not UTF-8 and for text that is not JSON; never with a part of the text in its message.
 */
export function parseExactJson(bytes: Buffer): { text: string; value: unknown } {
  if (!isUtf8(bytes)) throw new SyntaxError('The body is not valid UTF-8');
  const text = bytes.toString('utf8').replace(byteOrderMark, '');
  return { text, value: parseKeeping(text, (digits) => new ExactNumber(digits)) };
}

/**
 * The same of a text, with such a number as its text: for ids and values of others that are passed on or compared as texts anyway.
 * @throws SyntaxError for text that is not JSON; never with a part of the text in its message
 */
export function parseJsonWithDigits(text: string): unknown {
  return parseKeeping(text, (digits) => digits);
}

function parseKeeping(text: string, keep: (digits: string) => unknown): unknown {
  const keepDigits = (_key: string, value: unknown, context?: { source?: string }): unknown => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined) return value;
    return isExact(value, source) ? value : keep(source);
  };
  try {
    return riskyNumber.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch {
    throw new SyntaxError('The body is not valid JSON');
  }
}

/** Fifteen significant digits always survive a double; beyond that the number must print as it was written. */
function isExact(value: number, source: string): boolean {
  const [mantissa = ''] = source.split(/[eE]/);
  const digits = mantissa.replace(/[-.]/g, '').replace(/^0+/, '');
  if (!Number.isFinite(value) || (value === 0 && digits !== '')) return false;
  return digits.length <= 15 || String(value) === source;
}
