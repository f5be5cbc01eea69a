import type { Database } from '#runtime';
import type { OnRefused } from '../http/permit.js';
import { actor, audit } from './audit.js';

/** Notes who tried what without the permission for it. Looking is not noted: a page that shows too much would fill the audit. */
export function auditRefusals(db: Database): OnRefused {
  return async ({ person, permission, route, params }) => {
    if (permission === 'list') return;
    await audit(db, { ...actor(person), action: 'request.refused', subject: { permission, route, ...params } });
  };
}
