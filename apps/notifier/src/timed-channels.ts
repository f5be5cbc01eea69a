import type { CallTimes } from '#delivery';
import type { OpenChannel } from './open-channels.js';

/** The channels, each of which tells how long its messages took from the call to the answer. */
export function timedChannels(channels: ReadonlyMap<string, OpenChannel>, times: Pick<CallTimes, 'of'>): Map<string, OpenChannel> {
  return new Map([...channels].map(([name, channel]) => [name, timed(channel, times.of(name))]));
}

function timed(channel: OpenChannel, onTime: ReturnType<CallTimes['of']>): OpenChannel {
  return {
    ...channel,
    send: async (message, context) => {
      const startedAt = performance.now();
      const outcome = await channel.send(message, context);
      // What never left this process says nothing about how fast the other side is.
      const left = outcome.kind !== 'transient' || !outcome.provablyNotExecuted;
      if (left) onTime('total', performance.now() - startedAt);
      return outcome;
    },
  };
}
