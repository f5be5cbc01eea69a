import { type Balance, balanceSources, type DeliveryId, type ReceivedDay, takeBalance } from '#delivery';
import { clientOf, type Installation } from '../installation.js';
import type { Line } from '../output.js';

/** Exit codes of `leadctl balance` alone; scripts rely on them. */
export const balanceCodes = { balanced: 0, unbalanced: 1, unreachable: 2 } as const;

const caller = 'reconciler';
/** A page of 500 takes a busy service a fraction of it. */
const timeoutMs = 10_000;

/** The balance of a running installation. Throws ConfigError, InternalUnavailable, InternalRefused. */
export async function balance(installation: Installation): Promise<Balance> {
  const intake = clientOf(installation, 'intake', { caller, timeoutMs });
  const owner = clientOf(installation, 'crm-writer', { caller, timeoutMs });
  try {
    return await takeBalance(balanceSources({ intake, owner }));
  } finally {
    await Promise.all([intake.close(), owner.close()]);
  }
}

/** What was accepted and where all of it is; then every id that is missing or incomplete. */
export function balanceLines(result: Balance): Line[] {
  const count = (what: string, deliveries: number): Line => ({ what, deliveries });
  const { received } = result;
  return [
    count('accepted', result.accepted),
    ...Object.entries(result.found)
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([state, deliveries]) => count(`  ${state}`, deliveries)),
    ...(['outbox', 'parked', 'unclaimed_young', 'unclaimed_held'] as const)
      .filter((place) => result[place] > 0)
      .map((place) => count(`  ${place}`, result[place])),
    count('  incomplete', result.incomplete.length),
    count('  missing', result.missing.length),
    ...named('INCOMPLETE', result.incomplete),
    ...named('MISSING', result.missing),
    count('received', received.received),
    ...(['accepted', 'repeats', 'conflicts', 'rejected'] as const).map((part) => count(`  ${part}`, received[part])),
    ...received.differences.map(difference),
  ];
}

/** Both sides of a day that does not add up. */
function difference({ day, organization, source, received, leads, ...parts }: ReceivedDay): Line {
  const { accepted, repeats, conflicts, rejected } = parts;
  const sides = `${received} received, ${accepted} accepted + ${repeats} repeats + ${conflicts} conflicts + ${rejected} rejected`;
  const rows = leads === undefined ? '' : `, ${leads} leads`;
  return { what: `DIFFERENT ${day} ${organization || '-'} ${source || '-'}: ${sides}${rows}`, deliveries: received };
}

const named = (word: string, ids: readonly DeliveryId[]): Line[] =>
  ids.map(({ event_id, destination }) => ({ what: `${word} ${event_id} ${destination}`, deliveries: 1 }));
