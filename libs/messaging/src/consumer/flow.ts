import type { FlowStop, Lane, PartitionWindow } from './partition-window.js';
import type { WindowSet } from './window-set.js';

export interface FlowOptions {
  maxUnsettled: number;
  maxUncommitted: number;
  maxHeld: number;
  isPaused(window: PartitionWindow): boolean;
  heldOfTiers(): number;
  setFetching(topic: string, partition: number, on: boolean): void;
}

/** Full for so long without one settle: the fetch loop is needed elsewhere, so the partitions with a backlog pause. */
const stallMs = 250;
const heartbeatCheckMs = 100;

/** Back-pressure: how long the fetch loop waits, and which partitions it leaves out. */
export class Flow {
  private readonly waiters = new Set<() => void>();
  private movedAtMs = Date.now();
  private closed = false;

  constructor(
    private readonly windows: WindowSet,
    private readonly options: FlowOptions,
  ) {}

  /** Records fetched and waiting for room, those that are paused on purpose left out. */
  backlog(lane: Lane): number {
    return this.windows.backlog(lane, (window) => !this.options.isPaused(window));
  }

  moved(): void {
    this.movedAtMs = Date.now();
  }

  /**
   * Holds the fetch loop back while records wait for room, as long as some settle now and then. Otherwise the partitions that wait pause,
   * and the loop goes on for the others: a paused partition is fetched again up to one fetch wait later, which only the idle can afford.
   */
  async room(lane: Lane, heartbeat: () => Promise<void>): Promise<void> {
    const since = Date.now();
    while (!this.closed && this.backlog(lane) > 0) {
      if (Date.now() - Math.max(since, this.movedAtMs) > stallMs) {
        this.stop(lane);
        return;
      }
      await this.change(heartbeatCheckMs);
      await heartbeat();
    }
  }

  private stop(lane: Lane): void {
    for (const window of this.windows.all) if (window.lane === lane && window.backlog > 0) window.flow.add('window');
    this.steer();
  }

  /** Tells the client which partitions to fetch, and lets waiting fetches go on when nothing waits for room any more. */
  steer(): void {
    if (this.closed) return;
    const { maxUnsettled, maxUncommitted, maxHeld, heldOfTiers, setFetching, isPaused } = this.options;
    const left = this.backlog('main') + this.backlog('tier');
    const held = heldOfTiers();
    for (const window of this.windows.all) {
      const { span } = window.watermark;
      decide(window.flow, 'uncommitted', { on: span >= maxUncommitted, off: span < maxUncommitted / 2 });
      decide(window.flow, 'held', { on: window.lane === 'tier' && held >= maxHeld, off: held < maxHeld / 2 });
      decide(window.flow, 'window', { on: false, off: left <= maxUnsettled });
      const paused = window.flow.size > 0 || isPaused(window);
      if (paused === window.fetchPaused) continue;
      window.fetchPaused = paused;
      setFetching(window.topic, window.partition, !paused);
    }
    if (left === 0) this.wakeWaiters();
  }

  close(): void {
    this.closed = true;
    this.wakeWaiters();
  }

  private change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.waiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.waiters.add(done);
    });
  }

  private wakeWaiters(): void {
    for (const done of [...this.waiters]) done();
  }
}

function decide(flow: Set<FlowStop>, stop: FlowStop, { on, off }: { on: boolean; off: boolean }): void {
  if (on) flow.add(stop);
  else if (off) flow.delete(stop);
}
