import { isSwitchOnly, type Rule, type Switches } from './rule.js';

export interface RuledCall {
  operation: string;
  /** What a lookup looks for; switches of a rule for `lead` also hold for lookups of leads. */
  subject?: string;
  externalId?: string;
  campaign?: string;
}

export interface Verdict {
  fault?: Rule;
  switches: Switches;
}

const honest: Switches = { idempotency: true, contactUpsert: true, uniqueLeads: false, searchLagMs: 0 };

interface Entry {
  rule: Rule;
  left: number;
  /** Requests that the rule fitted. */
  met: number;
}

/**
 * The rules in force. The last matching rule decides what happens to a request as a whole; each switch has the value of the last
 * matching rule that names it. A rule without any effect is an exception: its requests are handled honestly.
 */
export class RuleBook {
  private entries: Entry[] = [];
  private readonly used = new Map<string, number>();

  add(rule: Rule): void {
    this.entries.push({ rule, left: rule.times ?? Number.POSITIVE_INFINITY, met: 0 });
  }

  /** @param name only the rules of that name; all when absent */
  clear(name?: string): void {
    this.entries = name === undefined ? [] : this.entries.filter(({ rule }) => rule.name !== name);
  }

  /** A request that the rule was carried out on never got its answer: whoever asked was gone, or the rule wanted it so. */
  unheard(rule: Rule | undefined): void {
    if (rule?.name !== undefined) this.count(`${rule.name}:unheard`);
  }

  /** How many requests each named rule was carried out on, and under `NAME:unheard` how many of those never got an answer; kept when rules run out or are cleared. */
  hits(): Record<string, number> {
    return Object.fromEntries(this.used);
  }

  list(): Rule[] {
    return this.entries.map(({ rule, left }) => (Number.isFinite(left) ? { ...rule, times: left } : rule));
  }

  /** @param names the switches that this kind of request reads; only a rule that was used counts down its `times` */
  decide(call: RuledCall, names: readonly (keyof Switches)[]): Verdict {
    if (this.entries.length === 0) return { switches: honest };
    const used = new Set<Entry>();
    const switches: Switches = { ...honest };
    for (const name of names) {
      const entry = this.entries.findLast(({ rule }) => rule[name] !== undefined && matches(rule, call, true));
      if (entry === undefined) continue;
      Object.assign(switches, { [name]: entry.rule[name] });
      used.add(entry);
    }
    const chosen = this.entries.findLast((entry) => !isSwitchOnly(entry.rule) && matches(entry.rule, call, false) && isItsTurn(entry));
    if (chosen !== undefined) used.add(chosen);
    this.spend(used);
    return { switches, fault: chosen?.rule };
  }

  private count(name: string): void {
    this.used.set(name, (this.used.get(name) ?? 0) + 1);
  }

  private spend(used: Set<Entry>): void {
    for (const entry of used) {
      entry.left -= 1;
      const { name } = entry.rule;
      if (name !== undefined) this.count(name);
    }
    if ([...used].some(({ left }) => left <= 0)) this.entries = this.entries.filter(({ left }) => left > 0);
  }
}

function isItsTurn(entry: Entry): boolean {
  entry.met += 1;
  return entry.met % (entry.rule.every ?? 1) === 0;
}

function matches(rule: Rule, call: RuledCall, asSwitch: boolean): boolean {
  if (rule.external_id !== undefined && rule.external_id !== call.externalId) return false;
  if (rule.campaign !== undefined && rule.campaign !== call.campaign) return false;
  if (rule.operation === undefined || rule.operation === call.operation) return true;
  return asSwitch && rule.operation === call.subject;
}
