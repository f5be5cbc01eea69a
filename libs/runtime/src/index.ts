export { type CoalesceOptions, type Coalescer, CoalescerFull, coalesce } from './coalesce.js';
export { ConfigError, type ConfigProblem } from './config/config-error.js';
export { describeIssues } from './config/describe-issues.js';
export { attempt, loadAll, loadEnv, readEnv } from './config/env.js';
export {
  baseEnv,
  databaseEnv,
  databaseRole,
  httpEnv,
  internalEnv,
  kafkaEnv,
  registryEnv,
  schemaName,
  siteEnv,
  timingEnv,
} from './config/env-fragments.js';
export { loadHmacSecret, loadInternalTokens, parseSecretJson, resolveSecret, type SecretRef } from './config/secrets.js';
export { type Column, columnValues, unnestColumns } from './database/columns.js';
export { type Database, type DatabaseOptions, openDatabase, type Sql, type Tx } from './database/database.js';
export { DatabaseUnavailable, StatementFailed, toDatabaseError } from './database/database-errors.js';
export { databaseReadiness } from './database/database-readiness.js';
export { type MigrateOptions, type Migrations, migrateService } from './database/migrate-service.js';
export { ExactNumber, parseExactJson, parseJsonWithDigits } from './exact-json.js';
export { type FieldProblem, type Problem, problem, problemContentType } from './http/problem.js';
export { firstEventId, newEventId, newLeadRef } from './ids.js';
export { instant } from './instant.js';
export type { InternalHandler, InternalRoute } from './internal/call-route.js';
export {
  type InternalClient,
  type InternalClientOptions,
  InternalRefused,
  InternalUnavailable,
  internalClient,
} from './internal/internal-client.js';
export { type InternalServer, type InternalServerOptions, startInternalServer } from './internal/internal-server.js';
export type { ReadinessCheck, ReadinessResult } from './internal/readiness.js';
export { type FrameworkLogger, frameworkLogger } from './logging/framework-logger.js';
export type { LogFields } from './logging/log-fields.js';
export { createLogger, type LogDestination, type Logger, type LogLevel, type LogMethod } from './logging/logger.js';
export { metricsText, onScrape } from './metrics/expose.js';
export { metrics, registry } from './metrics/metrics.js';
export { watchProcess } from './metrics/process-metrics.js';
export { type Hmacs, hmacs, type PersonIdentity } from './sealing/hmacs.js';
export { KeyRing } from './sealing/key-ring.js';
export { rewrap, SealError, type Sealed, seal, unseal } from './sealing/seal.js';
export {
  leaseOutlasts,
  namedSecrets,
  namesServices,
  ownToken,
  secretFiles,
  secretsOfChannels,
  secretsOfDestinations,
} from './service/checks.js';
export type { Checks, KnownConfiguration } from './service/configuration.js';
export { type CrashPoint, crashPoint, crashPointSoon, crashPoints } from './service/crash-points.js';
export type { Stoppable } from './service/drain.js';
export { runService, type ServiceContext, type ServiceOptions } from './service/run-service.js';
export { loadSite, parseSite, readSite } from './site/load-site.js';
export type { ReadingConfig, RecordFields } from './site/reading.js';
export { type RouteSubject, route } from './site/route.js';
export { duration } from './site/schema-parts.js';
export {
  type ChannelConfig,
  type DestinationConfig,
  type ErrorOutcome,
  type ErrorRule,
  type FieldTruth,
  type OidcConfig,
  type OperatorConfig,
  type OwnerConfig,
  type PersonRole,
  type PolicyConfig,
  personRoles,
  type ReconcileConfig,
  type RouteConfig,
  type Site,
  type SourceConfig,
  type TrytonConfig,
  type UpdateConfig,
} from './site/site.js';
export { siteJsonSchema } from './site/site-schema.js';
export { standsForLead } from './site/stands-for-lead.js';
export type { Attributes, AttributeValue, Span, SpanKind, SpanOptions } from './telemetry/span.js';
export { startTelemetry, type Telemetry, type TelemetryOptions } from './telemetry/telemetry.js';
export { parseTraceContext, type TraceContext } from './telemetry/trace-context.js';
