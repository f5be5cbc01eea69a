import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface CrmSite {
  /** Form → what its CRM has beyond the settings that all share, with the names of the site file. The CRM is called `FORM-crm`. */
  crms: Record<string, Record<string, unknown>>;
  /** Forms that share the CRM of another, under a policy of their own: form → form of the CRM and name of the policy. */
  alsoFrom?: Record<string, { form: string; policy: string }>;
  policies: Record<string, { attempts: number; deadline: string; max_age: string }>;
  /** Form whose CRM is reached through the door of `endpoints().tourPorts.door`: nobody listens there until a test does. */
  behindDoor?: string;
  /** Tells the sales chat of each outcome. Default: nobody is told. */
  chat?: boolean;
}

/** Filled in from the environment of the service that reads the file. */
const variable = (name: string): string => `\${${name}}`;

const shared = {
  connector: 'webhook',
  primary: true,
  sandbox: true,
  operations: ['lead'],
  secret: { file: 'crm-secret' },
  lookup: { lead: '/leads?external_id={external_id}' },
  check: '/check',
  timeout_ms: 2000,
  max_execution: '2s',
  search_lag: '1s',
  backoff: { base: '1s', cap: '2s' },
};

/** Writes a site file with one CRM for each form, so that what is done to one is not seen at another; `remove` when the stack has ended. */
export function writeCrmSite({ crms, alsoFrom = {}, policies, behindDoor, chat = false }: CrmSite): { file: string; remove(): void } {
  const told = chat ? { chat: 'sales', owner: 'ada' } : {};
  const rule = (form: string, crm: string, policy?: string) => ({
    match: { organization: 'demo', form },
    destinations: [`${crm}-crm`],
    ...told,
    ...(policy !== undefined && { policy }),
  });
  const urlOf = (form: string): string =>
    form === behindDoor ? `${variable('TOUR_DOOR_URL')}/crm-${form}` : `${variable('SANDBOX_CRM_URL')}-${form}`;
  const site = {
    sources: [
      {
        id: 'website',
        organization: 'demo',
        key_hashes: [variable('DEMO_SOURCE_KEY_HASH')],
        country: 'US',
        trusted_trace: true,
        requests_per_second: 2000,
      },
    ],
    routing: [
      ...Object.keys(crms).map((form) => rule(form, form)),
      ...Object.entries(alsoFrom).map(([form, { form: crm, policy }]) => rule(form, crm, policy)),
    ],
    destinations: Object.fromEntries(
      Object.entries(crms).map(([form, own]) => [`${form}-crm`, { ...shared, base_url: urlOf(form), ...own }]),
    ),
    policies,
    channels: chat
      ? {
          sales: {
            kind: 'telegram',
            api_url: variable('SANDBOX_CHAT_URL'),
            token: { file: 'chat-token' },
            chat_id: '-1001',
            sandbox: true,
          },
        }
      : {},
    owners: { ada: { name: 'Sales duty' } },
    // One person at the desk lets leads through again.
    operator: { policies: { single_operator: { max: 50 } } },
  };
  const dir = mkdtempSync(join(tmpdir(), 'lead-delivery-site-'));
  const file = join(dir, 'site.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(site, undefined, 2));
  return { file, remove: () => rmSync(dir, { recursive: true, force: true }) };
}
