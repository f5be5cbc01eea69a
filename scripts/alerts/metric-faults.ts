import { type Asked, allMade, allSelectors, asked, type Selector } from './promql.js';

export interface KnownMetric {
  labels: readonly string[];
  /** Upper bounds, of a histogram. */
  buckets?: readonly number[];
}

export type MetricTable = ReadonlyMap<string, KnownMetric>;

/** What Prometheus adds to each sample, and what it makes itself. */
export const targetLabels: readonly string[] = ['app', 'instance', 'job'];
const own: MetricTable = new Map([['up', { labels: [] }]]);

/** With the series that a histogram is exposed as, and those that recording rules make. */
export function seriesOf(
  table: MetricTable,
  recorded: readonly { name: string; expr: string; labels?: Record<string, string> }[],
): MetricTable {
  const series = new Map<string, KnownMetric>(own);
  for (const [name, metric] of table) {
    if (metric.buckets === undefined) series.set(name, metric);
    else {
      series.set(`${name}_bucket`, { labels: [...metric.labels, 'le'], buckets: metric.buckets });
      for (const suffix of ['sum', 'count']) series.set(`${name}_${suffix}`, { labels: metric.labels });
    }
  }
  for (const { name, expr, labels = {} } of recorded) {
    series.set(name, { labels: [...keptLabels(asked(expr)), ...Object.keys(labels), ...(series.get(name)?.labels ?? [])] });
  }
  return series;
}

/** No label comes out of a recording rule here that it does not group by or make. */
function keptLabels(of: Asked): string[] {
  const grouped = of.groupings.flatMap(({ labels, within }) => [...labels, ...(within === undefined ? [] : allMade(within))]);
  return [...of.made, ...grouped];
}

/** What an expression names that nobody exposes: a metric, a label that the metric does not have, a bucket without such a bound. */
export function metricFaults(expr: string, series: MetricTable): string[] {
  const all = asked(expr);
  return [...allSelectors(all).flatMap((selector) => selectorFaults(selector, series)), ...groupingFaults(all, series)];
}

function selectorFaults({ metric, matchers }: Selector, series: MetricTable): string[] {
  const known = series.get(metric);
  if (known === undefined) return [`names ${metric}, which no process exposes`];
  const labels = [...known.labels, ...targetLabels];
  const foreign = Object.keys(matchers).filter((label) => !labels.includes(label));
  const bound = matchers.le;
  const isBound = bound === undefined || known.buckets?.includes(Number(bound));
  return [
    ...foreign.map((label) => `matches ${metric} by ${label}, which it does not have`),
    ...(isBound ? [] : [`asks for the bucket ${bound} of ${metric}, which has no such bound`]),
  ];
}

function groupingFaults({ groupings }: Asked, series: MetricTable): string[] {
  return groupings.flatMap(({ labels, within }) => {
    if (within === undefined) return [];
    const made = allMade(within);
    const lacking = allSelectors(within).flatMap(({ metric }) => {
      const has = [...(series.get(metric)?.labels ?? []), ...targetLabels, ...made];
      return labels.filter((label) => !has.includes(label)).map((label) => `groups ${metric} by ${label}, which it does not have`);
    });
    return [...lacking, ...groupingFaults(within, series)];
  });
}
