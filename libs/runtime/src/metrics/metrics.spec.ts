import { describe, expect, it } from '@jest/globals';
import { metricsText, onScrape } from './expose.js';
import { metrics, registry } from './metrics.js';
import { watchProcess } from './process-metrics.js';

describe('the table of metrics', () => {
  it('has no label that takes an id', () => {
    const labels = Object.values(metrics).flatMap((metric) => (metric as unknown as { labelNames: string[] }).labelNames);
    expect(labels.length).toBeGreaterThan(20);
    expect(labels.filter((label) => /(^|_)(id|ref|key|email|phone)$/.test(label) && label !== 'error_class')).toEqual([]);
  });

  it('shows no sample of a gauge that this process never set', async () => {
    expect(await metricsText()).not.toMatch(/^leads_outbox_pending \d/m);
    metrics.outboxPending.set(3);
    expect(await metricsText()).toMatch(/^leads_outbox_pending 3$/m);
  });

  it('counts by label', async () => {
    metrics.intakeRequests.inc({ source: 'website', outcome: 'accepted' });
    expect(await metricsText()).toContain('leads_intake_requests_total{source="website",outcome="accepted"} 1');
  });

  it('names every metric once and with help', async () => {
    const names = (await registry.getMetricsAsJSON()).map(({ name, help }) => ({ name, help }));
    expect(names.every(({ help }) => help.length > 5)).toBe(true);
    expect(new Set(names.map(({ name }) => name)).size).toBe(names.length);
  });
});

describe('a scrape', () => {
  it('asks collectors first, and outlives one that fails', async () => {
    const forgetBroken = onScrape(() => Promise.reject(new Error('database gone')));
    const forget = onScrape(() => metrics.outboxParked.set(7));
    expect(await metricsText()).toMatch(/^leads_outbox_parked 7$/m);
    forgetBroken();
    forget();
    metrics.outboxParked.set(8);
    expect(await metricsText()).toMatch(/^leads_outbox_parked 8$/m);
  });

  it('shows the process itself', async () => {
    const stop = watchProcess();
    const text = await metricsText();
    stop();
    expect(text).toMatch(/^process_resident_memory_bytes \d{6,}$/m);
    expect(text).toMatch(/^process_cpu_seconds_total \d/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_max_seconds \d/m);
  });
});
