import type { Database } from '#runtime';
import type { OnRefused } from '../http/permit.js';
import { actor, audit } from './audit.js';

/** Ids and names as routes have them; whatever else somebody wrote into a path is not kept. */
const known = /^[\w.:~-]{1,100}$/;
const onceMs = 60_000;
/** Attempts of the last minute that are remembered; more than people can make by hand. */
const mostRemembered = 10_000;

/**
 * Notes who tried what without the permission for it, once a minute for each person and route. Looking is not noted: a page that shows too much would
 * fill the audit. `now`: milliseconds; default: the clock.
 */
export function auditRefusals(db: Database, now: () => number = Date.now): OnRefused {
  const noted = new Map<string, number>();
  return async ({ person, permission, route, params }) => {
    if (permission === 'list') return;
    const key = JSON.stringify([person.subject, route]);
    const at = now();
    if (at - (noted.get(key) ?? Number.NEGATIVE_INFINITY) < onceMs) return;
    remember(noted, key, at);
    const kept = Object.entries(params).map(([name, value]) => [name, known.test(value) ? value : '?']);
    await audit(db, { ...actor(person), action: 'request.refused', subject: { permission, route, ...Object.fromEntries(kept) } });
  };
}

/** The oldest stand first, and go first. */
function remember(noted: Map<string, number>, key: string, at: number): void {
  noted.delete(key);
  for (const [old, since] of noted) {
    if (noted.size < mostRemembered && at - since < onceMs) break;
    noted.delete(old);
  }
  noted.set(key, at);
}
