// Reads as much of PromQL as the rules and dashboards here use: selectors, aggregations with the labels in front, label_replace.

export interface Selector {
  metric: string;
  /** Label → what is matched with it, as written. */
  matchers: Record<string, string>;
}

export interface Grouping {
  /** Labels that are kept or joined by. */
  labels: string[];
  /** What stands in the brackets behind them; absent for a join (`on`). */
  within?: Asked;
}

/** What an expression asks for. */
export interface Asked {
  selectors: Selector[];
  groupings: Grouping[];
  /** Labels that label_replace makes. */
  made: string[];
}

const token = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[[^\]]*\]|[A-Za-z_:][\w:]*|\d[\w.]*|=~|!~|!=|==|>=|<=|[^\s\w]/g;
const operators = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan']);
const groupers = new Set(['by', 'on']);
const isName = (text: string | undefined): text is string => text !== undefined && /^[A-Za-z_:]/.test(text);
const isText = (text: string | undefined): text is string => text !== undefined && /^["']/.test(text);
const unquoted = (text: string): string => text.slice(1, -1);

/** @throws Error on what is not used here: `without`, `ignoring`, an aggregation with its labels behind it; and on brackets that do not close */
export function asked(expression: string): Asked {
  return new Reading(expression.match(token) ?? []).all();
}

/** Every selector, also those within groupings. */
export function allSelectors({ selectors, groupings }: Asked): Selector[] {
  return [...selectors, ...groupings.flatMap(({ within }) => (within === undefined ? [] : allSelectors(within)))];
}

/** Labels that label_replace makes anywhere within. */
export function allMade({ made, groupings }: Asked): string[] {
  return [...made, ...groupings.flatMap(({ within }) => (within === undefined ? [] : allMade(within)))];
}

class Reading {
  constructor(private readonly tokens: readonly string[]) {}

  all(): Asked {
    return this.between(0, this.tokens.length);
  }

  private between(from: number, to: number): Asked {
    const found: Asked = { selectors: [], groupings: [], made: [] };
    for (let at = from; at < to; at += 1) at = this.one(at, found);
    return found;
  }

  /** Takes in what begins at `at`; gives the place of its last token. */
  private one(at: number, found: Asked): number {
    const text = this.tokens[at];
    if (isText(text)) {
      // The four texts of label_replace: what is made, from what.
      if ([2, 4, 6].every((step) => isText(this.tokens[at + step])) && this.tokens[at + 7] === ')') found.made.push(unquoted(text));
      return at;
    }
    if (!isName(text) || operators.has(text)) return at;
    if (['without', 'ignoring', 'group_left', 'group_right'].includes(text)) throw new Error(`${text} is not used here`);
    if (groupers.has(text)) return this.grouping(at, found);
    // A function, or an aggregation.
    if (['(', 'by'].includes(this.tokens[at + 1] ?? '')) return at;
    if (this.tokens[at + 1] !== '{') {
      found.selectors.push({ metric: text, matchers: {} });
      return at;
    }
    const end = this.closing(at + 1);
    found.selectors.push({ metric: text, matchers: this.matchers(at + 2, end) });
    return end;
  }

  private grouping(at: number, found: Asked): number {
    const end = this.closing(at + 1);
    const labels = this.tokens.slice(at + 2, end).filter(isName);
    if (this.tokens[at] === 'on') {
      found.groupings.push({ labels });
      return end;
    }
    if (this.tokens[end + 1] !== '(') throw new Error('write the labels of an aggregation in front of its brackets');
    const last = this.closing(end + 1);
    found.groupings.push({ labels, within: this.between(end + 2, last) });
    return last;
  }

  private matchers(from: number, to: number): Record<string, string> {
    const places = Array.from({ length: to - from }, (_, step) => from + step).filter((at) => isText(this.tokens[at + 2]));
    return Object.fromEntries(
      places.flatMap((at) => {
        const label = this.tokens[at];
        return isName(label) ? [[label, unquoted(this.tokens[at + 2] ?? '')]] : [];
      }),
    );
  }

  private closing(at: number): number {
    const open = this.tokens[at];
    const close = open === '{' ? '}' : ')';
    let depth = 0;
    for (let place = at; place < this.tokens.length; place += 1) {
      if (this.tokens[place] === open) depth += 1;
      if (this.tokens[place] === close) depth -= 1;
      if (depth === 0) return place;
    }
    throw new Error(`a bracket is not closed: ${this.tokens.slice(at, at + 5).join(' ')}`);
  }
}
