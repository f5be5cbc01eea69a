import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tryton } from './start-tryton.js';
import { trytonRobot } from './tryton-place.js';

/** A site file whose forms have a Tryton destination each, all of them one and the same database. `remove` when the stack has ended. */
export function writeTrytonSite(
  tryton: Pick<Tryton, 'database' | 'employees'>,
  { forms, url, settings = {} }: { forms: readonly string[]; url(form: string): string; settings?: Record<string, unknown> },
): { file: string; env: Record<string, string>; remove(): void } {
  const site = {
    sources: [
      // biome-ignore lint/suspicious/noTemplateCurlyInString: filled in by the services
      { id: 'website', organization: 'demo', key_hashes: ['${DEMO_SOURCE_KEY_HASH}'], country: 'US', requests_per_second: 2_000 },
    ],
    routing: forms.map((form) => ({ match: { organization: 'demo', form }, destinations: [`${form}-crm`], owner: 'ada' })),
    destinations: Object.fromEntries(
      forms.map((form) => [
        `${form}-crm`,
        {
          connector: 'tryton',
          primary: true,
          sandbox: true,
          operations: ['contact', 'lead'],
          base_url: url(form),
          secret: { env: 'TRYTON_PASSWORD' },
          tryton: { database: tryton.database, user: trytonRobot.user, employees: tryton.employees },
          timeout_ms: 6_000,
          max_execution: '1s',
          search_lag: '1s',
          backoff: { base: '1s', cap: '2s' },
          breaker: { cool_down: '200ms', longest_cool_down: '500ms' },
          retry_budget: 1,
          // One Python process serves them all.
          concurrency: 2,
          ...settings,
        },
      ]),
    ),
    policies: { default: { attempts: 4, deadline: '4h', max_age: '7d' } },
    owners: { ada: { name: 'Ada Sales' }, grace: { name: 'Grace Sales' } },
    operator: { policies: { single_operator: { max: 50 } } },
  };
  const dir = mkdtempSync(join(tmpdir(), 'tryton-site-'));
  const file = join(dir, 'site.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(site, undefined, 2));
  return { file, env: { TRYTON_PASSWORD: trytonRobot.password }, remove: () => rmSync(dir, { recursive: true, force: true }) };
}
