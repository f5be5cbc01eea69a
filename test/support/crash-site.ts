/** A kind of CRM: `native` answers a repeated key with what it answered before, `plain` makes another record. */
export type Door = 'native' | 'plain';

export interface SiteDestination {
  /** Also the form whose leads go there, and the campaign that rules name them by. */
  name: string;
  door: Door;
  /** In place of `{ base: 1s, cap: 2s }`. */
  backoff?: { base: string; cap: string };
  /** In place of `['lead']`. */
  operations?: string[];
}

/** A site file in which every destination has the leads of its own form, so that no crash meets the leads of another one. */
export function crashSite(destinations: readonly SiteDestination[]): string {
  return JSON.stringify({
    sources: [
      {
        id: 'website',
        organization: 'demo',
        key_hashes: [variable('DEMO_SOURCE_KEY_HASH')],
        country: 'US',
        trusted_trace: true,
        requests_per_second: 2_000,
      },
    ],
    routing: destinations.map(({ name }) => ({
      match: { organization: 'demo', form: name },
      destinations: [name],
      chat: 'sales',
      owner: 'ada',
    })),
    destinations: Object.fromEntries(destinations.map((one) => [one.name, destination(one)])),
    policies: { default: { attempts: 4, deadline: '4h', max_age: '7d' } },
    channels: {
      sales: {
        kind: 'telegram',
        api_url: variable('SANDBOX_CHAT_URL'),
        token: { file: 'chat-token' },
        chat_id: '-1001',
        sandbox: true,
      },
    },
    owners: { ada: { name: 'Sales duty' } },
    operator: { policies: { single_operator: { max: 50 } } },
  });
}

const variable = (name: string): string => `\${${name}}`;

const lookups = { lead: '/leads?external_id={external_id}', contact: '/contacts?person_key={person_key}' };

const destination = ({ door, backoff = { base: '1s', cap: '2s' }, operations = ['lead'] }: SiteDestination): Record<string, unknown> => ({
  connector: 'webhook',
  primary: true,
  sandbox: true,
  operations,
  base_url: variable('SANDBOX_CRM_URL') + (door === 'native' ? '' : '-plain'),
  secret: { file: 'crm-secret' },
  native_idempotency: door === 'native',
  lookup: Object.fromEntries(Object.entries(lookups).filter(([kind]) => operations.includes(kind))),
  check: '/check',
  timeout_ms: 2_000,
  max_execution: '2s',
  search_lag: '1s',
  backoff,
  breaker: { cool_down: '2s', longest_cool_down: '4s' },
  retry_budget: 1,
});
