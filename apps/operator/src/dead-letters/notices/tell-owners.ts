import { failureOwners } from '#contracts';
import type { Channel } from '#destinations';
import { type Database, type Logger, metrics, type Site } from '#runtime';
import { afterSending } from './after-sending.js';
import { claimNotice, endLost, endNotice, findUntold, forgetUntold, makeNotice, purgeNotices, type Untold } from './notice-rows.js';
import { noticeText } from './notice-text.js';

export interface TellOwnersOptions {
  db: Database;
  site: Pick<Site, 'owners' | 'destinations'>;
  /** By name, in the order of the site file: the first stands in. */
  channels: ReadonlyMap<string, Channel>;
  consoleUrl: string;
  windowMs: number;
  logger: Logger;
  /** Of one message; default 10,000. */
  timeoutMs?: number;
}

const defaultTimeoutMs = 10_000;
/** Beyond the time of a message: for what is written after it. */
const leaseBeyondMs = 20_000;
const mostPerRun = 20;
/** Of `leads_owner_notices_total`. */
const ends = ['sent', 'uncertain', 'refused'] as const;

/**
 * Tells the owners of failure classes that there are new dead letters: at once, then once in a window, all that came meanwhile in one
 * message. A chat has no idempotency key, so a message that may have left is never sent again; the next one says that it may be missing.
 */
export class OwnerNotices {
  constructor(private readonly options: TellOwnersOptions) {
    // From 0 on, so that the first one counts as an increase.
    for (const owner of failureOwners) for (const outcome of ends) metrics.ownerNotices.inc({ owner, outcome }, 0);
  }

  /** One run. Several processes may: a notice is made and sent by one of them. Rejects with DatabaseUnavailable. */
  async run(): Promise<void> {
    const { db, logger } = this.options;
    for (const { owner } of await endLost(db)) {
      metrics.ownerNotices.inc({ owner, outcome: 'uncertain' });
      logger.error({ component: owner }, 'A message about dead letters may not have arrived; it is not sent again');
    }
    for (const untold of await findUntold(db)) await this.make(untold);
    for (let sent = 0; sent < mostPerRun && (await this.send()); sent += 1);
    await purgeNotices(db);
  }

  private async make(untold: Untold): Promise<void> {
    const { db, windowMs, logger } = this.options;
    const channel = this.channelOf(untold);
    if (channel !== undefined) return void (await makeNotice(db, untold, { channel: channel.name, windowMs }));
    await forgetUntold(db, untold);
    if (!untold.test) logger.warn({ component: untold.owner }, 'There is no channel to tell an owner of dead letters');
  }

  /** Test leads are told of only where nobody real listens. */
  private channelOf({ owner, test }: Untold): Channel | undefined {
    const { site, channels } = this.options;
    const channel = channels.get(site.owners[owner]?.channel ?? channels.keys().next().value ?? '');
    return test && channel?.sandbox !== true ? undefined : channel;
  }

  /** Sends the next one; false when none is due. */
  private async send(): Promise<boolean> {
    const { db, site, channels, consoleUrl, logger, timeoutMs = defaultTimeoutMs } = this.options;
    const notice = await claimNotice(db, timeoutMs + leaseBeyondMs);
    if (notice === undefined) return false;
    const { owner, letters, counts, respond_by: respondBy, test, untold } = notice;
    const text = noticeText(site, { owner, ownerName: site.owners[owner]?.name, letters, counts, respondBy, test, untold, consoleUrl });
    // A channel that is not in the site file any more: nothing was sent.
    const outcome = (await channels.get(notice.channel)?.send({ text }, { timeoutMs })) ?? {
      kind: 'permanent',
      class: 'permanent',
      code: 'no_channel',
    };
    const end = afterSending(outcome, notice.attempts);
    await endNotice(db, notice, end);
    if (end.state === 'waiting') return true;
    metrics.ownerNotices.inc({ owner, outcome: end.state });
    if (end.state === 'sent') logger.info({ component: owner, count: letters }, 'An owner was told of new dead letters');
    else logger.error({ component: owner, count: letters, reason: end.code }, 'An owner may not know of new dead letters');
    return true;
  }
}
