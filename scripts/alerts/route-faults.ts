import { firingLabels } from './alert-faults.js';
import type { Alertmanager, Rule, RuleTest } from './ops-files.js';

type Labels = Record<string, string>;

/** A condition as Alertmanager writes it: `label = "value"` or `label =~ "a|b"`. Throws on any other. */
function condition(text: string): (labels: Labels) => boolean {
  const [, label = '', operator, value = ''] = /^(\w+) (=~|=) "(.*)"$/.exec(text) ?? [];
  if (operator === undefined) throw new Error(`no condition that is used here: ${text}`);
  return operator === '=' ? (labels) => labels[label] === value : (labels) => new RegExp(`^(?:${value})$`).test(labels[label] ?? '');
}

const fits = (matchers: readonly string[], labels: Labels): boolean => matchers.every((text) => condition(text)(labels));

/** The receiver of an alert with these labels. */
export function receiverOf(route: Alertmanager['route'], labels: Labels): string {
  const next = route.routes?.find(({ matchers = [] }) => fits(matchers, labels));
  return next === undefined ? route.receiver : receiverOf(next, labels);
}

const receiversOf = (route: Alertmanager['route']): string[] => [route.receiver, ...(route.routes ?? []).flatMap(receiversOf)];

/** A receiver that does not exist or that nobody reaches, and an alert that does not come to those of its severity and owner. */
export function routeFaults({ route, receivers }: Alertmanager, rules: readonly Rule[]): string[] {
  const named = receiversOf(route);
  const known = receivers.map(({ name }) => name);
  const wrong = rules.flatMap(({ alert, labels = {} }) => {
    const wanted = `${labels.severity}-${labels.owner?.replaceAll('_', '-')}`;
    const got = receiverOf(route, { alertname: alert ?? '', ...labels });
    return got === wanted ? [] : [`${alert} comes to ${got}, not to ${wanted}`];
  });
  return [
    ...named.filter((name) => !known.includes(name)).map((name) => `a route leads to ${name}, which does not exist`),
    ...known.filter((name) => !named.includes(name)).map((name) => `no route leads to ${name}`),
    ...wrong,
  ];
}

const minutes: Record<string, number> = { m: 1, h: 60 };
const waitOf = ({ for: wait = '0m' }: Rule): number => Number.parseInt(wait, 10) * (minutes[wait.slice(-1)] ?? Number.NaN);

/**
 * An alert that silences another has to exist, to come no later, and to carry the labels that both are compared by: Alertmanager takes two
 * alerts without the label for equal, and would silence too much.
 */
export function inhibitionFaults({ inhibit_rules }: Alertmanager, rules: readonly Rule[], tests: readonly RuleTest[]): string[] {
  return inhibit_rules.flatMap(({ source_matchers, target_matchers, equal }) => {
    const named = [...source_matchers, ...target_matchers].flatMap((text) => (/"(.*)"/.exec(text)?.[1] ?? '').split('|'));
    const unknown = named.filter((name) => !rules.some(({ alert }) => alert === name));
    const having = (matchers: readonly string[]): Rule[] => rules.filter(({ alert = '' }) => fits(matchers, { alertname: alert }));
    const [sources, targets] = [having(source_matchers), having(target_matchers)];
    const latest = Math.max(...sources.map(waitOf));
    const late = targets.filter((rule) => !(waitOf(rule) >= latest)).map(({ alert }) => `${alert} comes before what silences it`);
    const bare = [...sources, ...targets].flatMap((rule) =>
      equal
        .filter((label) => firingLabels(rule, tests).every((sample) => sample[label] === undefined))
        .map((label) => `${rule.alert} never carries ${label}`),
    );
    return [...unknown.map((name) => `${name} is no alert`), ...late, ...bare];
  });
}
