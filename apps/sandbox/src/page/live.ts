import type { IncomingMessage, ServerResponse } from 'node:http';

/** At most one picture per this many milliseconds; none while nothing changed or nobody looks. */
const pictureEveryMs = 250;

/** Server-sent events: a picture of everything on connect, and another soon after each change. */
export class LiveFeed {
  private readonly watchers = new Set<ServerResponse>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly picture: () => unknown) {}

  changed(): void {
    if (this.watchers.size === 0 || this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      const event = this.event();
      for (const res of this.watchers) res.write(event);
    }, pictureEveryMs);
  }

  attach(_req: IncomingMessage, res: ServerResponse): void {
    res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    res.write(this.event());
    this.watchers.add(res);
    res.once('close', () => this.watchers.delete(res));
  }

  close(): void {
    clearTimeout(this.timer);
    for (const res of this.watchers) res.end();
    this.watchers.clear();
  }

  private event(): string {
    return `data: ${JSON.stringify(this.picture())}\n\n`;
  }
}
