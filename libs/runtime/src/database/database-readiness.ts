import type { ReadinessCheck } from '../internal/readiness.js';
import type { Database } from './database.js';

/** Green while PostgreSQL answers. */
export function databaseReadiness(db: Database): ReadinessCheck {
  return {
    name: 'database',
    check: () =>
      db.sql('health.ping', 'SELECT 1', []).then(
        () => ({ ok: true }),
        () => ({ ok: false, detail: 'PostgreSQL does not answer' }),
      ),
  };
}
