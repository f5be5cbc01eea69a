import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { ConfigError, type ConfigProblem } from '../config/config-error.js';
import { loadSite, parseSite } from './load-site.js';
import { siteJsonSchema } from './site-schema.js';

const hash = `sha256:${'0a'.repeat(32)}`;
const env = { KEY_HASH: hash, CRM_URL: 'http://127.0.0.1:7301/crm/' };

const good = `
sources:
  - id: website
    organization: demo
    key_hashes: ["\${KEY_HASH}"]
    trusted_trace: true
    requests_per_second: 2000
  - { id: partner-feed, organization: demo }
routing:
  - match: { organization: demo, source: website, form: contact, campaign: autumn }
    destinations: [sandbox-crm, sandbox-marketing]
    chat: sales
    owner: ada
    policy: strict
  - destinations: [sandbox-crm]
destinations:
  sandbox-crm:
    connector: webhook
    primary: true
    sandbox: true
    operations: [contact, lead]
    base_url: "\${CRM_URL}"
    secret: { file: crm-secret }
    native_idempotency: true
    lookup: { lead: "/leads?external_id={external_id}" }
    paths: { lead: /deals }
  sandbox-marketing:
    connector: webhook
    requires_consent: true
    operations: [contact]
    base_url: "\${MARKETING_URL:-http://127.0.0.1:7301/marketing}"
    secret: { env: MARKETING_SECRET }
    path: /hook
policies:
  strict: { attempts: 4, deadline: 15m, max_age: 7d }
channels:
  sales: { kind: telegram, api_url: "http://127.0.0.1:7301/chat", token: { file: chat-token }, chat_id: "-1001" }
owners: { ada: { name: Sales duty } }
limits: { body_bytes: 262144 }
`;

function problemsOf(text: string, variables: NodeJS.ProcessEnv = env): ConfigProblem[] {
  try {
    parseSite(text, variables);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const marketing = (field: string) => `destinations.sandbox-marketing.${field}`;
const pathsOf = (text: string, variables?: NodeJS.ProcessEnv) => problemsOf(text, variables).map(({ path }) => path);

describe('a site file', () => {
  it('is read into names, milliseconds and defaults', () => {
    const site = parseSite(good, env);
    expect(site.sources).toEqual([
      { id: 'website', organization: 'demo', keyHashes: [hash], country: 'US', trustedTrace: true, requestsPerSecond: 2_000 },
      { id: 'partner-feed', organization: 'demo', keyHashes: [], country: 'US', trustedTrace: false, requestsPerSecond: 500 },
    ]);
    expect(site.destinations['sandbox-crm']).toMatchObject({
      name: 'sandbox-crm',
      baseUrl: 'http://127.0.0.1:7301/crm',
      paths: { contact: '/contacts', lead: '/deals' },
      timeoutMs: 10_000,
      connectTimeoutMs: 2_000,
      concurrency: 64,
      requiresConsent: false,
    });
    expect(site.destinations['sandbox-marketing']).toMatchObject({
      paths: { contact: '/hook' },
      baseUrl: 'http://127.0.0.1:7301/marketing',
    });
    expect(site.policies).toEqual({
      default: { name: 'default', attempts: 4, deadlineMs: 14_400_000, maxAgeMs: 604_800_000 },
      strict: { name: 'strict', attempts: 4, deadlineMs: 900_000, maxAgeMs: 604_800_000 },
    });
    expect(site.routing[1]).toEqual({ match: {}, destinations: ['sandbox-crm'], policy: 'default' });
    expect(site.channels.sales).toMatchObject({ name: 'sales', chatId: '-1001' });
    expect(site.owners.ada).toEqual({ id: 'ada', name: 'Sales duty' });
  });

  it('has the policies default and strict without naming them, each with limits of its own where it is changed', () => {
    const named = 'policies:\n  strict: { attempts: 4, deadline: 15m, max_age: 7d }\n';
    const strictOf = (text: string) => parseSite(good.replace(named, text), env).policies.strict;
    const builtIn = { name: 'strict', attempts: 4, deadlineMs: 900_000, maxAgeMs: 604_800_000 };
    expect(strictOf('')).toEqual(builtIn);
    expect(strictOf('policies: { hasty: { deadline: 1m } }\n')).toEqual(builtIn);
    expect(strictOf('policies: { strict: { attempts: 2 } }\n')).toEqual({ ...builtIn, attempts: 2 });
    expect(strictOf('policies: { strict: { deadline: 10m, max_age: 1d } }\n')).toMatchObject({ deadlineMs: 600_000, maxAgeMs: 86_400_000 });
    const hasty = parseSite(good.replace(named, 'policies: { hasty: { attempts: 1 } }\n'), env).policies.hasty;
    expect(hasty).toEqual({ name: 'hasty', attempts: 1, deadlineMs: 14_400_000, maxAgeMs: 604_800_000 });
  });

  it('has to outlive a built-in policy only where a rule names it', () => {
    const short = good.replace(
      'policies:\n  strict: { attempts: 4, deadline: 15m, max_age: 7d }\n',
      'policies: { default: { max_age: 1d } }\nretention: { vault: 2d }\n',
    );
    expect(pathsOf(short)).toEqual(['retention.vault']);
    expect(pathsOf(short.replace('policy: strict', 'policy: default'))).toEqual([]);
  });

  it('says who is told of dead letters and how often, on channels that there are', () => {
    const owners = 'owners: { ada: { name: Sales duty }, integration: { name: Integration, channel: sales } }';
    const text = good.replace(
      'owners: { ada: { name: Sales duty } }',
      `${owners}\noperator: { console_url: "https://leads.example.test/" }`,
    );
    const site = parseSite(text, env);
    expect(site.owners.integration).toEqual({ id: 'integration', name: 'Integration', channel: 'sales' });
    expect(site.operator).toMatchObject({ consoleUrl: 'https://leads.example.test', noticeWindowMs: 300_000 });
    expect(problemsOf(text.replace('channel: sales', 'channel: night'))).toMatchObject([
      { path: 'owners.integration.channel', problem: 'names something that does not exist' },
    ]);
  });

  it('gives a destination the times, limits and rules that nobody set', () => {
    const { destinations } = parseSite(good, env);
    expect(destinations['sandbox-marketing']).toMatchObject({
      updates: {},
      protectedFields: [],
      errors: [],
      lookupTimeoutMs: 10_000,
      maxExecutionMs: 60_000,
      searchLagMs: 30_000,
      uncertainHorizonMs: 1_800_000,
      keyRetentionMs: 30 * 86_400_000,
      backoff: { baseMs: 60_000, capMs: 300_000 },
      breaker: { coolDownMs: 15_000, longestCoolDownMs: 60_000 },
      retryBudget: 0.2,
    });
    expect(destinations['sandbox-marketing']?.check).toBeUndefined();
    expect(destinations['sandbox-marketing']?.quota).toBeUndefined();
  });

  it('reads how records are read for comparing, and where they say what it needs', () => {
    const own = `reading:
      many: { contact: { keys: "/c?key={person_keys*}" } }
      changed_since: { contact: "/c?since={from}" }
      record: { version: meta.version, ours: [api] }`;
    expect(parseSite(good.replace('path: /hook', own), env).destinations['sandbox-marketing']?.reading).toEqual({
      many: { contact: { keys: '/c?key={person_keys*}' } },
      limit: 100,
      changedSince: { contact: '/c?since={from}' },
      record: {
        id: 'id',
        version: 'meta.version',
        status: 'status',
        createdAt: 'created_at',
        changedAt: 'changed_at',
        changedBy: 'changed_by',
        ours: ['api'],
        contact: 'contact_id',
        owner: 'owner',
        next: 'next',
      },
    });
  });

  it('reads how a destination is changed, checked, limited and answers', () => {
    const own = `updates: { contact: { path: "/contacts/{ref}" } }
    protected_fields: [phone, custom.owner]
    check: /check
    quota: { requests: 100, per: 10s }
    breaker: { cool_down: 5s }
    errors:
      - { status: 503, code: QUERY_LIMIT_EXCEEDED, outcome: throttled }
      - { status: 400, operation: contact, outcome: permanent, class: protected_field }`;
    expect(parseSite(good.replace('path: /hook', own), env).destinations['sandbox-marketing']).toMatchObject({
      updates: { contact: { method: 'PATCH', path: '/contacts/{ref}' } },
      protectedFields: ['phone', 'custom.owner'],
      check: '/check',
      quota: { requests: 100, perMs: 10_000 },
      breaker: { coolDownMs: 5_000, longestCoolDownMs: 60_000 },
      errors: [
        { status: 503, code: 'QUERY_LIMIT_EXCEEDED', outcome: 'throttled' },
        { status: 400, operation: 'contact', outcome: 'permanent', class: 'protected_field' },
      ],
    });
  });

  it('names no issuer and lets nobody decide alone where the file says nothing, and reads both where it does', () => {
    expect(parseSite(good, env).operator).toEqual({ noticeWindowMs: 300_000, policies: {} });
    const own = `${good}
operator:
  oidc: { issuer: "https://id.example.test/", audience: leads, roles_claim: realm_access.roles, role_map: { duty: operator } }
  policies: { single_operator: {} }`;
    expect(parseSite(own, env).operator).toMatchObject({
      oidc: {
        issuer: 'https://id.example.test/',
        audience: 'leads',
        subjectClaim: 'sub',
        nameClaim: 'name',
        rolesClaim: 'realm_access.roles',
        organizationsClaim: 'organizations',
        roleMap: { duty: 'operator' },
      },
      policies: { singleOperator: { max: 50 } },
    });
  });

  it.each([
    ['oidc: { issuer: "http://id.example.test", audience: leads, role_map: {} }', 'operator.oidc.issuer'],
    ['oidc: { issuer: "https://id.example.test", role_map: {} }', 'operator.oidc.audience'],
    ['oidc: { issuer: "https://id.example.test", audience: leads, role_map: { duty: root } }', 'operator.oidc.role_map.duty'],
    ['policies: { single_operator: { max: 51 } }', 'operator.policies.single_operator.max'],
  ])('refuses the operator %s', (text, path) => {
    expect(pathsOf(`${good}\noperator: { ${text} }`)).toEqual([path]);
  });

  it('does not ask how long keys are kept where a destination promises nothing about them', () => {
    const forgetful = good
      .replace('paths: { lead: /deals }', 'key_retention: 1h')
      .replace('native_idempotency: true', 'native_idempotency: false');
    expect(pathsOf(forgetful)).toEqual([]);
  });

  it('names every mistake of a policy and of what has to outlive it at once', () => {
    const bad = good
      .replace('paths: { lead: /deals }', 'key_retention: 1d\n    uncertain_horizon: 1m\n    backoff: { base: 1h }')
      .replace('deadline: 15m, max_age: 7d', 'deadline: 26h, max_age: 40d');
    expect(pathsOf(bad).toSorted()).toEqual([
      'destinations.sandbox-crm.backoff.base',
      'destinations.sandbox-crm.key_retention',
      'destinations.sandbox-crm.uncertain_horizon',
      'policies.strict.deadline',
      'policies.strict.max_age',
    ]);
  });

  it('takes keys and replays that are outlived to the hour: max_age, and a day for what is approved at its end', () => {
    expect(pathsOf(good.replace('paths: { lead: /deals }', 'key_retention: 192h'))).toEqual([]);
    const longest = good.replace('max_age: 7d', 'max_age: 31d').replace('paths: { lead: /deals }', 'key_retention: 32d');
    expect(pathsOf(longest)).toEqual([]);
  });

  it('takes payloads that are kept as long as any lead may be retried and replayed, 400 days where nothing is said', () => {
    const kept = (text: string) => parseSite(`${good}\nretention: { vault: ${text} }\n`, env).retention.vaultMs;
    expect(parseSite(good, env).retention.vaultMs).toBe(400 * 86_400_000);
    expect(kept('8d')).toBe(8 * 86_400_000);
    expect(pathsOf(`${good}\nretention: { vault: 191h }\n`)).toEqual(['retention.vault']);
    expect(pathsOf(`${good.replace('max_age: 7d', 'max_age: 31d')}\nretention: { vault: 31d }\n`)).toContain('retention.vault');
    expect(pathsOf(`${good}\nretention: { vault: 401d }\n`)).toEqual(['retention.vault']);
  });

  it('shortens the connect timeout that nobody set to the timeout', () => {
    const site = parseSite(good.replace('path: /hook', 'timeout_ms: 100'), env);
    expect(site.destinations['sandbox-marketing']).toMatchObject({ timeoutMs: 100, connectTimeoutMs: 100 });
  });

  it('lets an answer take as long as the whole call where nobody set a shorter time', () => {
    const limitsOf = (text: string) => parseSite(good.replace('path: /hook', text), env).destinations['sandbox-marketing']?.callLimits;
    expect(limitsOf('timeout_ms: 30000')).toEqual({ writeMs: 5_000, firstByteMs: 30_000, readMs: 30_000 });
    expect(limitsOf('read_timeout_ms: 700')).toMatchObject({ firstByteMs: 10_000, readMs: 700 });
  });

  it.each([
    ['10s', 10_000],
    ['15m', 900_000],
    ['4h', 14_400_000],
    ['7d', 604_800_000],
    ['250ms', 250],
  ])('reads the duration %s', (text, ms) => {
    const site = parseSite(good.replace('max_age: 7d', `max_age: ${text}`).replace('deadline: 15m', 'deadline: 200ms'), env);
    expect(site.policies.strict?.maxAgeMs).toBe(ms);
  });

  it.each(['15', '15 m', '-1h', '1.5h', 'soon', '1w'])('refuses the duration %s', (text) => {
    expect(pathsOf(good.replace('deadline: 15m', `deadline: "${text}"`))).toEqual(['policies.strict.deadline']);
  });

  it('names a variable that is not set at the place that needs it, and only once', () => {
    expect(problemsOf(good, { CRM_URL: env.CRM_URL })).toEqual([
      {
        path: 'sources[0].key_hashes[0]',
        problem: 'names the variable KEY_HASH, which is not set',
        fix: `Set KEY_HASH, or write \${KEY_HASH:-default}`,
      },
    ]);
  });

  it('names mistakes of form and of reference together', () => {
    const bad = good
      .replace('destinations: [sandbox-crm, sandbox-marketing]', 'destinations: [sandbox-crm, nowhere]')
      .replace('chat: sales', 'chat: nobody')
      .replace('owner: ada', 'owner: bob')
      .replace('policy: strict', 'policy: lax')
      .replace('native_idempotency: true', 'native_idempotency: maybe')
      .replace('path: /hook', 'pathh: /hook');
    expect(pathsOf(bad).toSorted()).toEqual([
      'destinations.sandbox-crm.native_idempotency',
      'destinations.sandbox-marketing.pathh',
      'routing[0].chat',
      'routing[0].destinations[1]',
      'routing[0].owner',
      'routing[0].policy',
    ]);
  });

  it.each([
    [
      'a third key hash',
      `["\${KEY_HASH}"]`,
      `["${hash}", "${hash.replace('0', '1')}", "${hash.replace('0', '2')}"]`,
      'sources[0].key_hashes',
    ],
    [
      'a key hash that two sources share',
      'organization: demo }',
      `organization: demo, key_hashes: ["${hash}"] }`,
      'sources[1].key_hashes[0]',
    ],
    ['a source id used twice', 'id: partner-feed', 'id: website', 'sources[1].id'],
    ['two primary destinations in one rule', 'requires_consent: true', 'primary: true', 'routing[0].destinations'],
    ['a chat without a primary destination', 'primary: true', 'primary: false', 'routing[0].destinations'],
    ['a destination named twice', '[sandbox-crm, sandbox-marketing]', '[sandbox-crm, sandbox-crm]', 'routing[0].destinations'],
    ['a rule for a source that does not exist', 'source: website', 'source: webste', 'routing[0].match'],
    ['a form that is not written as its slug', 'form: contact', 'form: Contact us', 'routing[0].match.form'],
    ['a destination with the name of unrouted deliveries', 'sandbox-marketing:', 'unrouted:', 'destinations.unrouted'],
    ['a destination with the name of refused records', 'sandbox-marketing:', 'rejected:', 'destinations.rejected'],
    ['an unknown placeholder', '{external_id}', '{email}', 'destinations.sandbox-crm.lookup.lead'],
    [
      'a path of an operation that is not performed',
      'paths: { lead: /deals }',
      'paths: { note: /notes }',
      'destinations.sandbox-crm.paths.note',
    ],
    [
      'a connect timeout beyond the timeout',
      'path: /hook',
      'timeout_ms: 100\n    connect_timeout_ms: 200',
      'destinations.sandbox-marketing.connect_timeout_ms',
    ],
    ...(['write_timeout_ms', 'first_byte_timeout_ms', 'read_timeout_ms'] as const).map((field): [string, string, string, string] => [
      `${field} beyond the timeout`,
      'path: /hook',
      `timeout_ms: 100\n    ${field}: 200`,
      marketing(field),
    ]),
    [
      'a connect timeout beyond that of lookups',
      'path: /hook',
      'lookup_timeout_ms: 50\n    connect_timeout_ms: 60',
      marketing('connect_timeout_ms'),
    ],
    ['a back-off that begins beyond its cap', 'path: /hook', 'backoff: { base: 10m }', marketing('backoff.base')],
    ['a back-off of no time', 'path: /hook', 'backoff: { base: 0s }', marketing('backoff.base')],
    ['a cool-down beyond the longest', 'path: /hook', 'breaker: { cool_down: 61s }', marketing('breaker.cool_down')],
    ['a quota of no time', 'path: /hook', 'quota: { requests: 5, per: 0s }', marketing('quota.per')],
    [
      'a horizon before two lookups could tell',
      'path: /hook',
      'lookup: { contact: /c }\n    uncertain_horizon: 129s',
      marketing('uncertain_horizon'),
    ],
    [
      'an update of an operation that is not performed',
      'path: /hook',
      'updates: { note: { path: "/x/{ref}" } }',
      marketing('updates.note'),
    ],
    ['an update without the reference', 'path: /hook', 'updates: { contact: { path: /contacts } }', marketing('updates.contact.path')],
    ['reading without the keys', 'path: /hook', 'reading: { many: { contact: { keys: /c } } }', marketing('reading.many.contact.keys')],
    [
      'reading with keys for ids',
      'path: /hook',
      'reading: { many: { contact: { refs: "/c?id={person_keys*}" } } }',
      marketing('reading.many.contact.refs'),
    ],
    [
      'a list of changes since no time',
      'path: /hook',
      'reading: { changed_since: { contact: "/c?limit={limit}" } }',
      marketing('reading.changed_since.contact'),
    ],
    [
      'reading of what is not performed',
      'path: /hook',
      'reading: { changed_since: { note: "/c?since={from}" } }',
      marketing('reading.changed_since.note'),
    ],
    [
      'a rule for an operation that is not performed',
      'path: /hook',
      'errors: [{ status: 409, operation: lead, outcome: auth }]',
      marketing('errors[0].operation'),
    ],
    [
      'a class of what is not permanent',
      'path: /hook',
      'errors: [{ status: 409, outcome: auth, class: conflict }]',
      marketing('errors[0].class'),
    ],
    ['an outcome that does not exist', 'path: /hook', 'errors: [{ status: 409, outcome: gone }]', marketing('errors[0].outcome')],
    ['a protected field that is no path', 'path: /hook', 'protected_fields: ["the name"]', marketing('protected_fields[0]')],
    ['keys forgotten before the last replay', 'paths: { lead: /deals }', 'key_retention: 7d', 'destinations.sandbox-crm.key_retention'],
    [
      'keys forgotten before the approval of that replay runs out',
      'paths: { lead: /deals }',
      'key_retention: 191h',
      'destinations.sandbox-crm.key_retention',
    ],
    ['replays beyond what the rows outlive', 'max_age: 7d', 'max_age: 745h', 'policies.strict.max_age'],
    ['a deadline beyond the age limit', 'max_age: 7d', 'max_age: 10m', 'policies.strict.max_age'],
    ['a deadline that lead.accepted would not outlive', 'deadline: 15m', 'deadline: 25h', 'policies.strict.deadline'],
    ['no source at all', good.slice(1, good.indexOf('routing:')), 'sources: []\n', 'sources'],
    ['a destination name that is no part of a topic name', 'sandbox-marketing:', 'Sandbox.Marketing:', 'destinations.Sandbox.Marketing'],
    ['a base URL without scheme', `\${CRM_URL}`, 'crm.example.test', 'destinations.sandbox-crm.base_url'],
    ['a secret in clear', '{ file: crm-secret }', 'whsec_hunter2', 'destinations.sandbox-crm.secret'],
  ])('refuses %s', (_, from, to, path) => {
    const problems = problemsOf(good.replace(from, to));
    expect(problems.map((problem) => problem.path)).toContain(path);
    expect(JSON.stringify(problems)).not.toMatch(/hunter2|crm\.example\.test/);
  });

  it('that is not YAML is refused by line, without its content', () => {
    const problems = problemsOf('sources:\n  - id: "hunter2\n');
    expect(problems[0]?.path).toMatch(/^line \d+$/);
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });

  it.each(['', '[]', 'text', 'sources: {}', 'sources: [null]\nrouting: [null]\ndestinations: { a: null }'])(
    'of another shape (%j) is refused, not crashed on',
    (text) => {
      expect(problemsOf(text).length).toBeGreaterThan(0);
    },
  );

  it('that cannot be read is named', () => {
    expect(() => loadSite('/nowhere/site.yaml', {})).toThrow(/\/nowhere\/site\.yaml: cannot be read \(ENOENT\)/);
  });
});

describe('the published JSON Schema', () => {
  const valid = new Ajv2020({ allErrors: true, strictTypes: false }).compile(siteJsonSchema() as object);

  it('accepts the file as it is written, placeholders included', () => {
    expect(valid(parse(good))).toBe(true);
  });

  it('refuses an unknown field and a wrong duration', () => {
    expect(valid(parse(good.replace('limits:', 'limitz:')))).toBe(false);
    expect(valid(parse(good.replace('15m', 'soon')))).toBe(false);
  });
});
