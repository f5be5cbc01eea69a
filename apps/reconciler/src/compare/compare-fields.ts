import type { FieldTruth } from '#runtime';

export interface FieldsAsked {
  expected: Readonly<Record<string, unknown>>;
  found: Readonly<Record<string, unknown>>;
  /** By field; one that is not named is `ours`. */
  truth: Readonly<Record<string, FieldTruth>>;
  /** Fields that a later submission wrote: that one answers for them. */
  newer: readonly string[];
}

export interface DifferingField {
  name: string;
  /** The name as it may be told: of a key that a form chose no more than where it stands, unless it is a plain word. */
  told: string;
  /** Whose value is right. */
  truth: FieldTruth;
}

/** Names of the fields that differ, but for what a later submission wrote. Values are looked at here and go nowhere else. Pure. */
export function differingFields({ expected, found, truth, newer }: FieldsAsked): DifferingField[] {
  const theirs = new Map(leaves(found).map(({ name, value }) => [name, value]));
  return leaves(expected).flatMap(({ name, told, value }) => {
    const top = name.split('.', 1)[0] as string;
    const right = truth[name] ?? truth[top] ?? 'ours';
    if (newer.includes(name) || newer.includes(top)) return [];
    return same(value, theirs.get(name)) ? [] : [{ name, told, truth: right }];
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
  told: string;
  value: unknown;
}

/** Fields of objects in a field count one by one, as `custom.size`. @param above the field that they are in */
function leaves(fields: Readonly<Record<string, unknown>>, above?: Pick<Leaf, 'name' | 'told'>): Leaf[] {
  return Object.entries(fields).flatMap(([key, value]): Leaf[] => {
    const name = above === undefined ? key : `${above.name}.${key}`;
    // Behind a key that is not told none is.
    const isTold = above?.name === above?.told && plainWord.test(key);
    const told = above === undefined ? key : isTold ? `${above.told}.${key}` : above.told;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ name, told, value }];
    return leaves(value as Record<string, unknown>, { name, told });
  });
}
