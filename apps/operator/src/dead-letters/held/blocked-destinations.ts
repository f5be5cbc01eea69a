import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { DestinationFiguresAnswer, DestinationsAnswer } from '#delivery';
import { type InternalClient, InternalRefused, InternalUnavailable, type Site } from '#runtime';
import { unclaimedFigure } from '../../destinations/destination-item.js';
import { maySee, organizationsOf } from '../../destinations/may-see.js';
import { unclaimedOf } from '../../destinations/to-item.js';
import type { OwnerApi } from '../../owners/owner-api.js';
import type { LetterFilter, Reader } from '../letter-filter.js';
import { ownerOf } from './held-item.js';

const text = z.string();

export const blockedDestination = z.object({
  service: text,
  destination: text,
  mode: z.enum(['blocked', 'probing']),
  reason: text,
  hold: z.object({ by: text, reason: text, at: text }).optional(),
  open_until: text.optional().describe('No probe before then.'),
  unclaimed: unclaimedFigure,
});
export type BlockedDestination = z.infer<typeof blockedDestination>;

export const aboutBlocked =
  'Only of `held`: every destination that nothing is sent to, with what lies on its topic: its group reads nothing meanwhile, so that leads of that time are in no group. One by one they are listed, as intake has them.';

export interface BlockedTools {
  site: Pick<Site, 'routing' | 'sources'>;
  owners: ReadonlyMap<string, Pick<OwnerApi, 'destinations'>>;
  clients: ReadonlyMap<string, Pick<InternalClient, 'post'>>;
}

export interface BlockedFound {
  blocked: BlockedDestination[];
  /** Services that did not answer, or not in time: what only they know is left out. */
  unavailable: string[];
}

/** What stands beside a list does not keep it waiting for longer. */
const patienceMs = 1_000;

/**
 * Destinations that the reader may see and that nothing is sent to, as far as the filter names what is known of a destination. Topics are looked
 * at only where there is one. All services are asked at the same time, and each is waited for {@link patienceMs}.
 */
export async function readBlocked(
  tools: BlockedTools & { patienceMs?: number },
  filter: LetterFilter,
  reader: Reader,
): Promise<BlockedFound> {
  const unavailable = new Set<string>();
  const waitMs = tools.patienceMs ?? patienceMs;
  const inTime = <T>(service: string, answer: Promise<T>) => orLate({ answer, waitMs, late: () => unavailable.add(service) });
  const all = await Promise.all([...tools.owners].map(([service, owner]) => blockedOf(tools.clients, { service, owner, inTime })));
  const blocked = all.flat().filter((one) => fits(tools.site, one, filter) && maySee(tools.site, one.destination, reader));
  return { blocked, unavailable: [...unavailable].sort() };
}

interface Waited<T> {
  answer: Promise<T>;
  waitMs: number;
  late: () => void;
}

/** The answer; undefined, and said, where its service is away or takes longer. */
async function orLate<T>({ answer, waitMs, late }: Waited<T>): Promise<T | undefined> {
  const stop = new AbortController();
  const given = answer.catch((error: unknown) => {
    if (error instanceof InternalUnavailable || error instanceof InternalRefused) return undefined;
    throw error;
  });
  const found = await Promise.race([given, delay(waitMs, undefined, { signal: stop.signal }).catch(() => undefined)]).finally(() =>
    stop.abort(),
  );
  if (found === undefined) late();
  return found;
}

type State = DestinationsAnswer['items'][number];
type Blocked = State & { mode: BlockedDestination['mode'] };

/** Those that nothing is sent to, by name. */
export function blockedAmong(items: readonly State[]): Map<string, Blocked> {
  const isBlocked = (item: State): item is Blocked => item.mode === 'blocked' || item.mode === 'probing';
  return new Map(items.filter(isBlocked).map((item) => [item.destination, item]));
}

interface AskedOwner {
  service: string;
  owner: Pick<OwnerApi, 'destinations'>;
  inTime: <T>(service: string, answer: Promise<T>) => Promise<T | undefined>;
}

async function blockedOf(clients: BlockedTools['clients'], { service, owner, inTime }: AskedOwner): Promise<BlockedDestination[]> {
  const states = await inTime(service, owner.destinations());
  const blocked = [...blockedAmong(states?.items ?? []).values()];
  const client = clients.get(service);
  if (blocked.length === 0) return [];
  // Without them the destinations are named all the same.
  const figures = client && (await inTime(service, client.post<DestinationFiguresAnswer>('/internal/v1/destinations:figures', {})));
  return blocked.map(({ destination, mode, reason = 'held', hold, open_until }) => {
    const unclaimed = unclaimedOf(figures?.items.find((one) => one.destination === destination)?.unclaimed);
    return { service, destination, mode, reason, hold, open_until, ...(unclaimed && { unclaimed }) };
  });
}

function fits(site: BlockedTools['site'], { destination, reason }: BlockedDestination, filter: LetterFilter): boolean {
  const { organization } = filter;
  return (
    (filter.destination === undefined || filter.destination === destination) &&
    (filter.class === undefined || filter.class === reason) &&
    (filter.owner === undefined || filter.owner === ownerOf(reason)) &&
    (organization === undefined || organizationsOf(site, destination).includes(organization))
  );
}
