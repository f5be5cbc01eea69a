import type { FailureClass } from '#contracts';
import type { SecretRef } from '../config/secrets.js';
import type { ReadingConfig } from './reading.js';

/** Who may hand in leads, over HTTP or on the topic `leads`. Unique by (organization, id). */
export interface SourceConfig {
  id: string;
  organization: string;
  /** `sha256:<hex>` of each bearer key valid now; at most two, so that a key can be exchanged without a gap. Empty: no HTTP. */
  keyHashes: string[];
  /** ISO 3166 country that national phone numbers are read in. */
  country: string;
  /** Continue the caller's trace; otherwise it becomes a link. */
  trustedTrace: boolean;
  requestsPerSecond: number;
}

export interface RouteConfig {
  /** Every named field must be equal; an absent one matches anything. */
  match: { organization?: string; source?: string; form?: string; campaign?: string };
  destinations: string[];
  /** Channel that is told about the outcome. */
  chat?: string;
  owner?: string;
  policy: string;
}

/** How a Tryton server is used. */
export interface TrytonConfig {
  database: string;
  user: string;
  /** Id of the company that leads belong to; absent: the user's own. */
  company?: number;
  /** Id of the employee who gets the lead, by owner. */
  employees: Record<string, number>;
}

export interface DestinationConfig {
  name: string;
  connector: 'webhook' | 'tryton';
  /** Present with the connector of that name. */
  tryton?: TrytonConfig;
  /** The lead's notification is told on this destination's outcome. */
  primary: boolean;
  /** Test leads may go here. */
  sandbox: boolean;
  requiresConsent: boolean;
  /** Operation kinds in the order they are performed. */
  operations: string[];
  /** Without trailing slash. */
  baseUrl: string;
  secret: SecretRef;
  nativeIdempotency: boolean;
  /** URL template per operation kind, relative to baseUrl. */
  lookup: Record<string, string>;
  /** Path per operation kind, relative to baseUrl; every kind is present. */
  paths: Record<string, string>;
  /** How a record that is known by its reference is changed, by operation kind; `{ref}` in the path. Absent: it is posted like a new one. */
  updates: Record<string, UpdateConfig>;
  /** Paths into a request's body (`phone`, `custom.owner`) that only people may write there. */
  protectedFields: string[];
  /** The destination's own meaning of its answers; the first rule that fits counts, before the general ones. */
  errors: ErrorRule[];
  /** Path of a cheap GET that proves credentials and reachability. */
  check?: string;
  /** Of one write, connect included. */
  timeoutMs: number;
  /** Of one TCP (and TLS) connect. */
  connectTimeoutMs: number;
  /** Of parts of a connected call, each cut to what is left of the whole; absent: what is left of it. */
  callLimits?: { writeMs: number; firstByteMs: number; readMs: number };
  /** Of one lookup or check, connect included. */
  lookupTimeoutMs: number;
  /** How long the destination may still work on a request whose caller gave up. */
  maxExecutionMs: number;
  /** Until a lookup finds what was written. */
  searchLagMs: number;
  /** Uncertain for this long it is raised as `unverified_write`. */
  uncertainHorizonMs: number;
  /** How long a repeated Idempotency-Key gets its first answer. */
  keyRetentionMs: number;
  backoff: { baseMs: number; capMs: number };
  breaker: { coolDownMs: number; longestCoolDownMs: number };
  /** Share of requests that may be retries. */
  retryBudget: number;
  /** Requests that the destination allows in a period, over all processes. */
  quota?: { requests: number; perMs: number };
  /** Writes in flight at most, per process. */
  concurrency: number;
  /** How records are read for comparing; absent: by single lookups. */
  reading?: ReadingConfig;
  /** Absent: it is never compared. */
  reconcile?: ReconcileConfig;
}

/** Whose value of a field is right. `newest`: whoever wrote it last. */
export type FieldTruth = 'ours' | 'theirs' | 'newest';

/** How what a destination holds is compared with what was delivered. */
export interface ReconcileConfig {
  /** Absent: only when somebody asks for it. */
  everyMs?: number;
  /** How far back a comparison by itself looks, over submission and last change; at least to where the last one ended. */
  windowMs: number;
  /** How much further back it looks for what its search showed late. */
  overlapMs: number;
  /** Calls of the destination per second at most. */
  rate: number;
  /** Leads compared at a time. */
  page: number;
  /** By field; one that is not named is `ours`. */
  fields: Record<string, FieldTruth>;
  /** Which status may follow which; the first one is that of a new record. Absent: every status is right. */
  transitions?: Record<string, string[]>;
  /** Who is given what differs. */
  owner?: string;
}

export interface UpdateConfig {
  method: 'PATCH' | 'PUT' | 'POST';
  /** Relative to baseUrl, with `{ref}`. */
  path: string;
  /** A repair names the version that it was approved for; 412 says that it is another by now. */
  ifMatch?: boolean;
}

/** What an answer of the destination means to us. `transient`: documented as not executed. */
export type ErrorOutcome = 'succeeded' | 'duplicate' | 'throttled' | 'transient' | 'uncertain' | 'permanent' | 'auth';

export interface ErrorRule {
  status: number;
  /** The provider's own word in the body; absent: any. */
  code?: string;
  /** Operation kind; absent: any. */
  operation?: string;
  outcome: ErrorOutcome;
  /** Failure class of a `permanent` one. */
  class?: FailureClass;
}

export interface PolicyConfig {
  name: string;
  attempts: number;
  /** From `submitted_at`. */
  deadlineMs: number;
  /** Replays of anything older are refused. */
  maxAgeMs: number;
}

export interface ChannelConfig {
  name: string;
  kind: 'telegram';
  apiUrl: string;
  token: SecretRef;
  chatId: string;
  /** Messages about test leads may go here. */
  sandbox: boolean;
}

export interface OwnerConfig {
  id: string;
  name: string;
  /** Channel that is told of new dead letters; absent: the first. */
  channel?: string;
}

/** What people are to the operator's surface. */
export const personRoles = ['viewer', 'operator', 'approver', 'admin'] as const;
export type PersonRole = (typeof personRoles)[number];

/** An issuer of tokens for people. Claims are paths: `realm_access.roles`. */
export interface OidcConfig {
  /** Exactly as the tokens name it. */
  issuer: string;
  audience: string | string[];
  /** With which the console signs people in. */
  clientId?: string;
  /** Absent: the issuer's discovery document names it. */
  jwksUrl?: string;
  subjectClaim: string;
  nameClaim: string;
  rolesClaim: string;
  organizationsClaim: string;
  /** Role here by the issuer's role. */
  roleMap: Record<string, PersonRole>;
}

export interface OperatorConfig {
  /** Where people open the console, without trailing slash. */
  consoleUrl?: string;
  /** An owner is told of new dead letters at most once in this time; default five minutes. */
  noticeWindowMs?: number;
  oidc?: OidcConfig;
  policies: {
    /** Where one person works alone: a batch of at most `max` items needs no second person. */
    singleOperator?: { max: number };
  };
}

/** The site file after validation: who may send, where leads go, who is told. */
export interface Site {
  sources: SourceConfig[];
  routing: RouteConfig[];
  destinations: Record<string, DestinationConfig>;
  /** `default` and `strict` always stand here, also where the file has none. */
  policies: Record<string, PolicyConfig> & { default: PolicyConfig };
  channels: Record<string, ChannelConfig>;
  owners: Record<string, OwnerConfig>;
  operator: OperatorConfig;
  /** Of what a person wrote, from acceptance. */
  retention: { vaultMs: number };
  limits: { bodyBytes: number };
}
