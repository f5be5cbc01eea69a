import { createChannels } from '#destinations';
import type { OpenArea } from '../../area.js';
import { Follower } from '../../follower.js';
import { OwnerNotices } from './tell-owners.js';

const defaultWindowMs = 5 * 60_000;

/** Tells owners of new dead letters. */
export const noticesArea: OpenArea = ({ env, site, db, logger }) => {
  const channels = createChannels(site.channels, env.LD_SECRETS_DIR);
  const { consoleUrl = `http://${env.HTTP_HOST}:${env.HTTP_PORT}`, noticeWindowMs: windowMs = defaultWindowMs } = site.operator;
  const notices = new OwnerNotices({ db, site, channels, consoleUrl, windowMs, logger });
  // Apart from the other steps: a chat that does not answer must not hold them up, nor they it.
  const follower = new Follower({ everyMs: env.FOLLOW_MS, logger, steps: { notices: () => notices.run() } });
  return {
    start: () => follower.start(),
    stop: async () => {
      await follower.stop();
      await Promise.all([...channels.values()].map((channel) => channel.close()));
    },
  };
};
