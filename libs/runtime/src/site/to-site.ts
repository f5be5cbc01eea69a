import { builtInLimits, builtInPolicies } from './built-in-policies.js';
import { toReading } from './reading.js';
import type { DestinationConfig, OidcConfig, PolicyConfig, ReconcileConfig, Site, SourceConfig } from './site.js';
import type { SiteDocument } from './site-schema.js';

const defaultConnectTimeoutMs = 2_000;
/** A request is small: what takes longer has stopped. */
const defaultWriteMs = 5_000;

/** The file's words in the code's words, with names put into the things they name. */
export function toSite(document: SiteDocument): Site {
  const policies = mapValues(document.policies, (policy, name): PolicyConfig => {
    const { attempts, deadline = builtInLimits(name).deadlineMs, max_age: maxAgeMs } = policy;
    return { name, attempts, deadlineMs: deadline, maxAgeMs };
  });
  const { default: usual, strict } = builtInPolicies;
  return {
    sources: document.sources.map(toSource),
    routing: document.routing,
    destinations: mapValues(document.destinations, toDestination),
    policies: { default: { name: 'default', ...usual }, strict: { name: 'strict', ...strict }, ...policies },
    channels: mapValues(document.channels, ({ kind, api_url: apiUrl, token, chat_id: chatId, sandbox }, name) => ({
      name,
      kind,
      apiUrl,
      token,
      chatId,
      sandbox,
    })),
    owners: mapValues(document.owners, ({ name, channel }, id) => ({ id, name, ...(channel !== undefined && { channel }) })),
    operator: {
      consoleUrl: document.operator.console_url,
      noticeWindowMs: document.operator.notice_window,
      oidc: document.operator.oidc && toOidc(document.operator.oidc),
      policies: { singleOperator: document.operator.policies.single_operator },
    },
    retention: { vaultMs: document.retention.vault },
    limits: { bodyBytes: document.limits.body_bytes },
  };
}

function toSource(source: SiteDocument['sources'][number]): SourceConfig {
  return {
    id: source.id,
    organization: source.organization,
    keyHashes: source.key_hashes,
    country: source.country,
    trustedTrace: source.trusted_trace,
    requestsPerSecond: source.requests_per_second,
  };
}

function toDestination(destination: SiteDocument['destinations'][string], name: string): DestinationConfig {
  const defaults = Object.fromEntries(destination.operations.map((kind) => [kind, destination.path ?? `/${kind}s`]));
  return {
    name,
    connector: destination.connector,
    ...(destination.tryton && { tryton: destination.tryton }),
    primary: destination.primary,
    sandbox: destination.sandbox,
    requiresConsent: destination.requires_consent,
    operations: destination.operations,
    baseUrl: destination.base_url,
    secret: destination.secret,
    nativeIdempotency: destination.native_idempotency,
    lookup: destination.lookup,
    paths: { ...defaults, ...destination.paths },
    updates: mapValues(destination.updates, ({ if_match: ifMatch, ...update }) => ({ ...update, ...(ifMatch && { ifMatch }) })),
    protectedFields: destination.protected_fields,
    errors: destination.errors,
    check: destination.check,
    ...timesOf(destination),
    retryBudget: destination.retry_budget,
    quota: destination.quota && { requests: destination.quota.requests, perMs: destination.quota.per },
    concurrency: destination.concurrency,
    ...(destination.reading && { reading: toReading(destination.reading) }),
    ...(destination.reconcile && { reconcile: toReconcile(destination.reconcile) }),
  };
}

function toReconcile(reconcile: NonNullable<SiteDocument['destinations'][string]['reconcile']>): ReconcileConfig {
  const { every, window, overlap, rate, page, fields, status, owner } = reconcile;
  return {
    ...(every !== undefined && { everyMs: every }),
    windowMs: window,
    overlapMs: overlap,
    rate,
    page,
    fields,
    ...(status && { transitions: status.transitions }),
    ...(owner !== undefined && { owner }),
  };
}

function toOidc(oidc: NonNullable<SiteDocument['operator']['oidc']>): OidcConfig {
  return {
    issuer: oidc.issuer,
    audience: oidc.audience,
    clientId: oidc.client_id,
    jwksUrl: oidc.jwks_url,
    subjectClaim: oidc.subject_claim,
    nameClaim: oidc.name_claim,
    rolesClaim: oidc.roles_claim,
    organizationsClaim: oidc.organizations_claim,
    roleMap: oidc.role_map,
  };
}

type Times =
  | 'timeoutMs'
  | 'connectTimeoutMs'
  | 'callLimits'
  | 'lookupTimeoutMs'
  | 'maxExecutionMs'
  | 'searchLagMs'
  | 'uncertainHorizonMs'
  | 'keyRetentionMs'
  | 'backoff'
  | 'breaker';

function timesOf(destination: SiteDocument['destinations'][string]): Pick<DestinationConfig, Times> {
  const { timeout_ms: timeoutMs, lookup_timeout_ms: lookupTimeoutMs = timeoutMs, backoff, breaker } = destination;
  return {
    timeoutMs,
    connectTimeoutMs: destination.connect_timeout_ms ?? Math.min(defaultConnectTimeoutMs, timeoutMs, lookupTimeoutMs),
    callLimits: {
      writeMs: destination.write_timeout_ms ?? Math.min(defaultWriteMs, timeoutMs),
      firstByteMs: destination.first_byte_timeout_ms ?? timeoutMs,
      readMs: destination.read_timeout_ms ?? timeoutMs,
    },
    lookupTimeoutMs,
    maxExecutionMs: destination.max_execution,
    searchLagMs: destination.search_lag,
    uncertainHorizonMs: destination.uncertain_horizon,
    keyRetentionMs: destination.key_retention,
    backoff: { baseMs: backoff.base, capMs: backoff.cap },
    breaker: { coolDownMs: breaker.cool_down, longestCoolDownMs: breaker.longest_cool_down },
  };
}

function mapValues<A, B>(map: Record<string, A>, change: (value: A, name: string) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value, name)]));
}
