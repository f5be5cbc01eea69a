import { registry } from './metrics.js';

type Collector = () => void | Promise<void>;

const collectors = new Set<Collector>();
/** A collector that asks a database which hangs must not hang the scrape. */
const collectMs = 2_000;

/** Calls `collect` before each scrape, so that a gauge costs nothing between scrapes. A failing one is skipped. Gives a function that undoes it. */
export function onScrape(collect: Collector): () => void {
  collectors.add(collect);
  return () => collectors.delete(collect);
}

/** The exposition text of /metrics. */
export async function metricsText(): Promise<string> {
  await Promise.all([...collectors].map(collectOne));
  return registry.metrics();
}

async function collectOne(collect: Collector): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, collectMs);
  });
  try {
    await Promise.race([collect(), timeout]);
  } catch {
    // The scrape shows what the other collectors found; the missing sample is visible by itself.
  } finally {
    clearTimeout(timer);
  }
}
