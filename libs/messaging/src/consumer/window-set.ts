import { type Lane, PartitionWindow, type WindowOwner } from './partition-window.js';

/** The windows of one assignment. */
export class WindowSet {
  private readonly windows = new Map<string, PartitionWindow>();
  /** The same in a list, for turns. */
  all: readonly PartitionWindow[] = [];

  constructor(
    private readonly owner: WindowOwner,
    private readonly tierTopics: ReadonlySet<string>,
  ) {}

  get(topic: string, partition: number): PartitionWindow | undefined {
    return this.windows.get(`${topic}/${partition}`);
  }

  /** A fresh window, in place of the one before. */
  add(topic: string, partition: number): PartitionWindow {
    const window = new PartitionWindow({ topic, partition, lane: this.tierTopics.has(topic) ? 'tier' : 'main' }, this.owner);
    this.windows.get(`${topic}/${partition}`)?.end();
    this.windows.set(`${topic}/${partition}`, window);
    this.all = [...this.windows.values()];
    return window;
  }

  /** Records of a lane that are with the application. */
  out(lane: Lane): number {
    let count = 0;
    for (const window of this.all) if (window.lane === lane) count += window.out;
    return count;
  }

  /** Records of a lane that wait for room, where `counts` says so. */
  backlog(lane: Lane, counts: (window: PartitionWindow) => boolean): number {
    let count = 0;
    for (const window of this.all) if (window.lane === lane && window.backlog > 0 && counts(window)) count += window.backlog;
    return count;
  }

  end(): void {
    for (const window of this.all) window.end();
  }
}
