import { type Balance, type BalanceSources, type ReceivedDay, takeBalance } from '#delivery';
import { type Database, type Logger, metrics, type ReadinessCheck } from '#runtime';
import { storeBalance } from './store-balance.js';
import { type Tallied, Tally } from './tally.js';

export interface BalanceKeeperOptions {
  db: Database;
  sources: BalanceSources;
  logger: Logger;
  /** Between two looks for what was found nowhere; default 1,000. */
  pauseMs?: number;
}

/** Takes the balance, keeps it by day, and says by metric and readiness note where it does not add up. */
export class BalanceKeeper {
  private last: Balance | undefined;

  constructor(private readonly options: BalanceKeeperOptions) {}

  /** Red until one was taken, and while the last one does not add up: a person has to look, and nothing here stops for it. */
  readonly readiness: ReadinessCheck = {
    name: 'balance',
    isNote: true,
    check: () => {
      if (this.last === undefined) return { ok: false, detail: 'no balance was taken yet since the start' };
      if (this.last.balanced) return { ok: true };
      const { missing, incomplete, received } = this.last;
      const detail = `${missing.length} deliveries are found nowhere, ${incomplete.length} are not whole, ${received.differences.length} days do not add up; leadctl balance names them`;
      return { ok: false, detail };
    },
  };

  /** Takes it once. Throws InternalUnavailable, InternalRefused, DatabaseUnavailable: then the last one stands. */
  async take(): Promise<Balance> {
    const { db, sources, logger, pauseMs } = this.options;
    const tally = new Tally();
    const received: ReceivedDay[] = [];
    const watched: BalanceSources = {
      ...sources,
      received: async (day) => {
        const items = await sources.received(day);
        received.push(...items);
        return items;
      },
    };
    const balance = await takeBalance(watched, { pauseMs, onFacts: (facts) => tally.add(facts) });
    const days = tally.list();
    await storeBalance(db, { days, received, at: balance.at });
    publish(balance, days);
    if (!balance.balanced && this.last?.balanced !== false) {
      logger.error({ count: balance.missing.length + balance.incomplete.length }, 'The balance does not add up');
    }
    this.last = balance;
    return balance;
  }
}

function publish(balance: Balance, days: readonly Tallied[]): void {
  metrics.balanced.set(balance.balanced ? 1 : 0);
  metrics.balanceTakenAt.set(Date.parse(balance.at) / 1_000);
  metrics.balanceDifference.reset();
  const sums = new Map<string, { source: string; destination: string; difference: number }>();
  for (const { source, destination, missing, incomplete } of days) {
    const key = JSON.stringify([source, destination]);
    const sum = sums.get(key) ?? { source, destination, difference: 0 };
    sums.set(key, { ...sum, difference: sum.difference + missing + incomplete });
  }
  for (const { difference, ...labels } of sums.values()) metrics.balanceDifference.set(labels, difference);
  metrics.balanceReceivedDifference.reset();
  for (const { source } of balance.received.differences) metrics.balanceReceivedDifference.inc({ source });
}
