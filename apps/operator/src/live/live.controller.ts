import type { ServerResponse } from 'node:http';
import { Controller, Get, Inject, type OnModuleDestroy, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { OpenArea } from '../area.js';
import { Follower } from '../follower.js';
import { Permit } from '../http/permit.js';
import { refusals } from '../http/refusal.js';
import { Changes } from './changes.js';
import { watchDestinations } from './watch-destinations.js';

const pingEveryMs = 15_000;
const watchEveryMs = 2_000;
/** Then the console opens another, and shows again who it is: a token may have been withdrawn. */
const longestStreamMs = 15 * 60_000;
/** More streams than a duty room has screens; what is beyond asks again every few seconds. */
const mostStreams = 200;
/** A reader that has stopped reading is let go. */
const mostUnreadBytes = 64 * 1_024;

/** Tells consoles that something has changed, as server-sent events. They ask for what they show; nothing of it goes this way. */
@Controller('v1/live')
class LiveController implements OnModuleDestroy {
  private readonly streams = new Set<ServerResponse>();

  constructor(@Inject(Changes) private readonly changes: Changes) {}

  @Get()
  @Permit('list', { summary: 'What has changed, as it changes: event `changed`, data {"what": [names]}', produces: 'text/event-stream' })
  live(@Res() reply: FastifyReply): void {
    if (this.streams.size >= mostStreams) throw refusals.unavailable();
    reply.hijack();
    const { raw } = reply;
    // Whoever left while it was looked up who asks closes no more.
    if (raw.destroyed) return;
    raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
    raw.write(': here\n\n');
    this.streams.add(raw);
    const send = (text: string): void => {
      if (raw.writableLength > mostUnreadBytes) raw.destroy();
      else raw.write(text);
    };
    const end = this.changes.listen((what) => send(`event: changed\ndata: ${JSON.stringify({ what })}\n\n`));
    const ping = setInterval(() => send(': still here\n\n'), pingEveryMs);
    const over = setTimeout(() => raw.end(), longestStreamMs);
    raw.on('error', () => raw.destroy());
    raw.once('close', () => {
      end();
      clearInterval(ping);
      clearTimeout(over);
      this.streams.delete(raw);
    });
  }

  /** Before the server closes: it would wait for them. */
  onModuleDestroy(): void {
    for (const stream of this.streams) stream.end();
  }
}

/** Live updates of the console. */
export const liveArea: OpenArea = ({ notifications, owners, logger }) => {
  const changes = new Changes();
  const follower = new Follower({ everyMs: watchEveryMs, logger, steps: { destinations: watchDestinations(owners, changes) } });
  let hear: (() => void) | undefined;
  return {
    controllers: [LiveController],
    providers: [{ provide: Changes, useValue: changes }],
    start: () => {
      follower.start();
      hear = notifications.listen('ld_operator_changes', {
        notified: (what) => changes.tell(what),
        // Whatever was told meanwhile was told to nobody.
        reconnected: () => {
          for (const what of ['dead-letters', 'batches', 'erasures', 'corrections']) changes.tell(what);
        },
      });
    },
    stop: async () => {
      changes.stop();
      await follower.stop();
      hear?.();
    },
  };
};
