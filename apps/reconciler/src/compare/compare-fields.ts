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
  /** Whose value is right. */
  truth: FieldTruth;
}

/** Names of the fields that differ, but for what a later submission wrote. Values are looked at here and go nowhere else. Pure. */
export function differingFields({ expected, found, truth, newer }: FieldsAsked): DifferingField[] {
  const theirs = new Map(leaves(found));
  return leaves(expected).flatMap(([name, value]) => {
    const top = name.split('.', 1)[0] as string;
    const right = truth[name] ?? truth[top] ?? 'ours';
    if (newer.includes(name) || newer.includes(top)) return [];
    return same(value, theirs.get(name)) ? [] : [{ name, truth: right }];
  });
}

/** Nothing, null and an empty text are the same to a CRM; so are a number and its digits. */
function same(ours: unknown, theirs: unknown): boolean {
  return text(ours) === text(theirs);
}

function text(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Fields of objects in a field count one by one, as `custom.size`. */
function leaves(fields: Readonly<Record<string, unknown>>, prefix = ''): [string, unknown][] {
  return Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[`${prefix}${name}`, value]];
    return leaves(value as Record<string, unknown>, `${prefix}${name}.`);
  });
}
