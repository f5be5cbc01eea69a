import { ExactNumber } from '#runtime';
import { isObject } from './body-problems.js';
import { fieldPath } from './text.js';

const nameEnd = /"\s*:/g;
const token = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g;

/**
 * Paths of names that stand twice in one object, of which JSON.parse keeps the last alone. `text` is valid JSON and `value` what it was parsed to.
 * A body without them costs a count: colons after quotes are never fewer than names, so where there are as many as names were parsed, none was lost.
 */
export function repeatedNames(text: string, value: unknown): string[] {
  return (text.match(nameEnd)?.length ?? 0) === countNames(value) ? [] : findRepeated(text);
}

/** Without recursion: a body may be nested deeper than the stack. */
function countNames(value: unknown): number {
  let count = 0;
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (next instanceof ExactNumber) continue;
    if (Array.isArray(next)) for (const item of next) open.push(item);
    else if (isObject(next)) {
      for (const item of Object.values(next)) open.push(item);
      count += Object.keys(next).length;
    }
  }
  return count;
}

interface Open {
  path: string;
  names: Set<string>;
  /** Path of the value that comes next. */
  next: string;
}

function findRepeated(text: string): string[] {
  const repeated = new Set<string>();
  const stack: Open[] = [];
  for (const [found, colon] of text.matchAll(token)) {
    const open = stack.at(-1);
    if (found === '{' || found === '[') {
      const path = open?.next ?? '';
      stack.push({ path, names: new Set(), next: path });
    } else if (found === '}' || found === ']') stack.pop();
    else if (colon !== undefined && open) {
      const name = JSON.parse(found.slice(0, found.length - colon.length)) as string;
      open.next = fieldPath(open.path, name, open.names.size);
      if (open.names.has(name)) repeated.add(open.next);
      open.names.add(name);
    }
  }
  return [...repeated];
}
