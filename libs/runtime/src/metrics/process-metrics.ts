import { performance } from 'node:perf_hooks';
import { Counter, Gauge } from 'prom-client';
import { onScrape } from './expose.js';
import { registry } from './metrics.js';

const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] });

/**
 * CPU, memory and event loop of this process, under the names prom-client and dashboards use. prom-client's own set wakes the process
 * a hundred times a second to watch the event loop; here a timer looks once a second, which an idle process does not feel.
 * Gives a function that stops it.
 */
export function watchProcess(): () => void {
  const cpu = new Counter({ name: 'process_cpu_seconds_total', help: 'CPU time used, user and system.', registers: [registry] });
  const memory = gauge('process_resident_memory_bytes', 'Resident memory.');
  const heap = gauge('nodejs_heap_size_used_bytes', 'Heap in use.');
  const startedAt = gauge('process_start_time_seconds', 'When the process started.');
  const lag = gauge('nodejs_eventloop_lag_max_seconds', 'The longest delay of a one-second timer since the last scrape.');
  const utilization = gauge('nodejs_eventloop_utilization', 'Share of time the event loop was busy since the last scrape.');
  startedAt.set(Math.round(performance.timeOrigin / 1_000));

  const watch = watchLag();
  let before = performance.eventLoopUtilization();
  let countedSeconds = 0;
  const forget = onScrape(() => {
    const { user, system } = process.cpuUsage();
    const usedSeconds = (user + system) / 1e6;
    cpu.inc(usedSeconds - countedSeconds);
    countedSeconds = usedSeconds;
    memory.set(process.memoryUsage.rss());
    heap.set(process.memoryUsage().heapUsed);
    lag.set(watch.takeMaxMs() / 1_000);
    const now = performance.eventLoopUtilization();
    utilization.set(performance.eventLoopUtilization(now, before).utilization);
    before = now;
  });
  return () => {
    watch.stop();
    forget();
  };
}

const lookEveryMs = 1_000;

function watchLag(): { takeMaxMs(): number; stop(): void } {
  let maxMs = 0;
  let dueAt = performance.now() + lookEveryMs;
  const timer = setInterval(() => {
    const now = performance.now();
    maxMs = Math.max(maxMs, now - dueAt);
    dueAt = now + lookEveryMs;
  }, lookEveryMs);
  timer.unref();
  return {
    takeMaxMs: () => {
      const taken = maxMs;
      maxMs = 0;
      return taken;
    },
    stop: () => clearInterval(timer),
  };
}
