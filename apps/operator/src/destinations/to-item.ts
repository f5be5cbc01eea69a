import { type DestinationFigures, type DestinationsAnswer, quotaBucketOf } from '#delivery';
import type { DestinationConfig, Site } from '#runtime';
import type { DestinationItem, UnclaimedFigure } from './destination-item.js';
import type { Drain } from './drain-watch.js';

/** Where a destination of one service comes from. `states` undefined: the service does not answer. */
export interface Known {
  service: string;
  destination: string;
  config?: DestinationConfig;
  channel?: Site['channels'][string];
  state?: DestinationsAnswer['items'][number];
  answers: boolean;
  figures?: DestinationFigures;
  /** By the database's clock. */
  figuresAt?: string;
  drain?: Drain;
}

/** One destination as people see it: what is set beside what is so. */
export function toItem(known: Known): DestinationItem {
  const { service, destination, config, channel, state, answers, figures, drain } = known;
  const { latency = {}, by_hour = [] } = figures ?? {};
  return {
    service,
    destination,
    configured: config !== undefined || channel !== undefined,
    // A destination that nothing was ever sent to has no row: nothing keeps it from being sent to.
    mode: answers ? (state?.mode ?? 'flowing') : 'unknown',
    reason: state?.reason,
    hold: state?.hold && { by: state.hold.by, reason: state.hold.reason, since: state.hold.at },
    open_until: state?.open_until,
    cool_downs: state?.cool_downs ?? 0,
    breaker: answers ? breakerOf(state) : 'unknown',
    ...settingsOf(config),
    quota: config?.quota && quotaOf(config.quota, known),
    latency: { ...latency, by_hour },
    backlog: backlogOf(figures),
    drain,
    test: mayTest(known),
    as_of: state?.as_of ?? known.figuresAt,
  };
}

function backlogOf(figures: DestinationFigures | undefined): DestinationItem['backlog'] {
  const { waiting = 0, held = 0, uncertain = 0, oldest_at, unclaimed: said } = figures ?? {};
  const unclaimed = unclaimedOf(said);
  // ISO 8601 of one zone: in the order of time.
  const [oldest] = [oldest_at, unclaimed?.oldest_at].filter((at) => at !== undefined).sort();
  return { waiting, held, uncertain, ...(unclaimed && { unclaimed }), oldest_at: oldest };
}

/** What lies unclaimed, as it is shown. */
export function unclaimedOf(said: DestinationFigures['unclaimed']): UnclaimedFigure {
  if (said === undefined) return undefined;
  if ('unknown' in said) return { unknown: said.unknown };
  const { count, exact, oldest_at } = said;
  return { count, ...(!exact && { at_most: true }), oldest_at };
}

/** What has not ended there, by the figures of its service; undefined where nobody can say exactly what lies unclaimed. */
export function leftOf({ waiting, held, unclaimed }: DestinationFigures): number | undefined {
  if (unclaimed === undefined) return waiting + held;
  return 'unknown' in unclaimed || !unclaimed.exact ? undefined : waiting + held + unclaimed.count;
}

function breakerOf(state: Known['state']): DestinationItem['breaker'] {
  if (state === undefined) return 'closed';
  if (state.mode === 'probing') return 'half_open';
  if (state.open_until !== undefined) return 'open';
  return state.mode === 'ramping' ? 'half_open' : 'closed';
}

function settingsOf(config: DestinationConfig | undefined): Partial<DestinationItem> {
  if (config === undefined) return {};
  const { concurrency, retryBudget, breaker } = config;
  return {
    concurrency,
    retry_budget: retryBudget,
    breaker_rest: { first_ms: breaker.coolDownMs, longest_ms: breaker.longestCoolDownMs },
    timeouts: timeoutsOf(config),
  };
}

function timeoutsOf({ connectTimeoutMs, timeoutMs, lookupTimeoutMs, callLimits }: DestinationConfig): DestinationItem['timeouts'] {
  return {
    connect_ms: connectTimeoutMs,
    ...(callLimits && { write_ms: callLimits.writeMs, first_byte_ms: callLimits.firstByteMs, read_ms: callLimits.readMs }),
    total_ms: timeoutMs,
    lookup_ms: lookupTimeoutMs,
  };
}

/** Tokens come in all the time; a bucket that was never drawn from is full. */
function quotaOf(quota: NonNullable<DestinationConfig['quota']>, { figures, figuresAt }: Known): DestinationItem['quota'] {
  const { capacity, perMs } = quotaBucketOf(quota);
  const { quota_tokens: tokens = capacity, quota_at: at } = figures ?? {};
  const sinceMs = at === undefined || figuresAt === undefined ? 0 : Math.max(0, Date.parse(figuresAt) - Date.parse(at));
  const left = Math.max(0, Math.min(capacity, Math.floor(tokens + sinceMs * perMs)));
  return { requests: quota.requests, per_ms: quota.perMs, limit: capacity, left };
}

function mayTest({ config, channel }: Known): DestinationItem['test'] {
  if (config?.sandbox) return { possible: true };
  return {
    possible: false,
    why_not: config === undefined ? whyNoTest(channel === undefined ? 'unknown' : 'channel') : whyNoTest('not_sandbox'),
  };
}

const words = {
  unknown: 'The site file does not name this destination any more',
  channel: 'A channel is told what became of leads; send the test lead to a destination',
  not_sandbox:
    'Only a destination that the site file declares a sandbox (`sandbox: true`) gets test leads: elsewhere one would reach people',
} as const;

/** Why a test lead cannot go there, in words. */
export function whyNoTest(reason: keyof typeof words): string {
  return words[reason];
}
