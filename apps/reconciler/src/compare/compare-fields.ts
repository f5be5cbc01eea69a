import type { FieldTruth } from '#runtime';

export interface FieldsAsked {
  expected: Readonly<Record<string, unknown>>;
  found: Readonly<Record<string, unknown>>;
  /** By field; one that is not named is `ours`. */
  truth: Readonly<Record<string, FieldTruth>>;
  /** Fields that a later submission wrote: that one answers for them. */
  newer: readonly string[];
  /** What stands for a name that is not told: the same for the same name alone, and nothing that it can be read from. Absent: nothing does. */
  hide?: (name: string) => string;
}

export interface DifferingField {
  name: string;
  /** The name as it may be told: of a key that a form chose, unless it is a plain word, where it stands and what stands for it: `custom.#1f2e3d4c`. */
  told: string;
  /** Whose value is right. */
  truth: FieldTruth;
}

/** Names of the fields that differ, but for what a later submission wrote. Values are looked at here and go nowhere else. Pure. */
export function differingFields({ expected, found, truth, newer, hide }: FieldsAsked): DifferingField[] {
  const shown = leaves(found, hide);
  const byPath = new Map(shown.map(({ path, value }) => [path, value]));
  // A destination may take the point in a key for a step into an object.
  const byName = new Map(shown.map(({ name, value }) => [name, value]));
  return leaves(expected, hide).flatMap(({ path, name, told, value }) => {
    const top = name.split('.', 1)[0] as string;
    const right = truth[name] ?? truth[top] ?? 'ours';
    if (newer.includes(name) || newer.includes(top)) return [];
    return same(value, byPath.has(path) ? byPath.get(path) : byName.get(name)) ? [] : [{ name, told, truth: right }];
  });
}

/** What a person may have typed (an address, a number) is no plain word. */
const plainWord = /^[a-z][a-z0-9_-]{0,39}$/i;

/** Nothing, null and an empty text are the same to a CRM; so are a number and its digits. */
function same(ours: unknown, theirs: unknown): boolean {
  return text(ours) === text(theirs);
}

function text(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

interface Leaf {
  name: string;
  /** The keys one by one: a key may have a point in it. */
  path: string;
  told: string;
  value: unknown;
}

/** The field that others are in. */
interface Above {
  keys: readonly string[];
  /** As far as it is told. */
  told: string;
  /** All of it is. */
  isTold: boolean;
}

/** Fields of objects in a field count one by one, as `custom.size`. */
function leaves(fields: Readonly<Record<string, unknown>>, hide: FieldsAsked['hide'], above?: Above): Leaf[] {
  return Object.entries(fields).flatMap(([key, value]): Leaf[] => {
    const keys = [...(above?.keys ?? []), key];
    const name = keys.join('.');
    // Behind a key that is not told none is.
    const isTold = above === undefined || (above.isTold && plainWord.test(key));
    const told = isTold ? name : (above?.told ?? key);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return [{ name, path: JSON.stringify(keys), told: isTold || hide === undefined ? told : `${told}.#${hide(name)}`, value }];
    }
    return leaves(value as Record<string, unknown>, hide, { keys, told, isTold });
  });
}
