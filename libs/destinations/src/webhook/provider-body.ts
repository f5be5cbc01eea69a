import { parseJsonWithDigits } from '#runtime';

/** A JSON object's fields; an array stands for its first object, as some APIs answer with a list of errors. */
type Fields = Record<string, unknown>;

/** What a generic destination says in its body, as far as words of a known form go: its prose may quote the lead. */
export interface ProviderBody {
  /** Its own words for what went wrong, the most telling first. */
  words: readonly string[];
  /** It says that it failed, whatever its status. */
  failed: boolean;
  /** Its id of the record. */
  ref?: string;
}

/** Stands for the code of an answer that is not JSON, such as the page of a proxy in front of the destination. */
export const notJson = 'not_json';

/** Reads a body of whatever form; never throws. */
export function readProviderBody(text: string | undefined): ProviderBody {
  const fields = parse(text);
  if (fields === undefined) return { words: [notJson], failed: false };
  let words: string[] | undefined;
  return {
    // Only of an answer that failed, or that a rule of its status may name.
    get words() {
      words ??= wordsOf(fields);
      return words;
    },
    failed: saysFailed(fields),
    ref: refOf(fields),
  };
}

function parse(text: string | undefined): Fields | undefined {
  try {
    return object(parseJsonWithDigits(text ?? ''));
  } catch {
    return undefined;
  }
}

function object(value: unknown): Fields | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'object' && first !== null ? (first as Fields) : undefined;
}

const codeFields = ['code', 'errorCode', 'error_code', 'error', 'category', 'type', 'name'] as const;
const word = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

function wordsOf(fields: Fields): string[] {
  const places = [fields, object(fields.error), object(fields.errors)];
  const found = places.flatMap((place) => codeFields.map((name) => place?.[name]));
  return [...new Set(found.filter((value): value is string => typeof value === 'string' && word.test(value)))];
}

function saysFailed(fields: Fields): boolean {
  return fields.ok === false || fields.success === false || isError(fields.error) || isError(fields.errors);
}

const isError = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && value !== '' && !(Array.isArray(value) && value.length === 0);

const isId = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number';

function refOf(fields: Fields): string | undefined {
  const id = isId(fields.id) ? fields.id : [object(fields.data)?.id, fields.existing_id].find(isId);
  return id === undefined || id === '' ? undefined : String(id);
}
