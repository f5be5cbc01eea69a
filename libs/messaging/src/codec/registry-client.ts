import { RegistryUnavailable } from './errors.js';

export interface RegistryClientOptions {
  /** Base URL of a Confluent-compatible API, e.g. http://registry:8080/apis/ccompat/v7. */
  url: string;
  /** Hard limit of one call, connect to last byte. A registry whose database is away holds requests open. */
  timeoutMs: number;
}

/** An answer the registry gave on purpose: 2xx, or a refusal with an error code in a JSON body. */
export interface RegistryAnswer {
  status: number;
  errorCode: number | undefined;
  body: Record<string, unknown>;
}

/** Levels this product uses. */
export type Compatibility = 'BACKWARD_TRANSITIVE' | 'FULL_TRANSITIVE';

/** The few calls we make, with request fields that every registry version knows. Everything else it may answer is RegistryUnavailable. */
export interface RegistryClient {
  /** Writer schema of an id, or undefined where the registry says that it has none. */
  schemaById(id: number): Promise<string | undefined>;
  /** Id and version of exactly this schema under the subject, or undefined. */
  lookUp(subject: string, schema: string): Promise<number | undefined>;
  /** @throws SchemaRefused when the registry calls it incompatible or invalid, or the subject is locked. */
  register(subject: string, schema: string): Promise<number>;
  /** Level set on the subject itself, undefined where none is. */
  compatibility(subject: string): Promise<string | undefined>;
  setCompatibility(subject: string, level: Compatibility): Promise<void>;
}

/** The registry understood and said no. */
export class SchemaRefused extends Error {
  override readonly name = 'SchemaRefused';
  readonly safeMessage = true;
}

export function registryClient(options: RegistryClientOptions): RegistryClient {
  const base = options.url.replace(/\/+$/, '');
  const call = (method: string, path: string, body?: object) => ask({ url: `${base}${path}`, method, body, timeoutMs: options.timeoutMs });
  const subjectPath = (subject: string) => `/subjects/${encodeURIComponent(subject)}`;
  return {
    async schemaById(id) {
      const answer = await call('GET', `/schemas/ids/${id}`);
      if (isAbsent(answer)) return undefined;
      // Not allowed, too many questions: says nothing about the id.
      if (answer.status >= 400) throw new RegistryUnavailable(`The schema registry answered ${answer.status} (${answer.errorCode})`);
      return text(answer.body.schema, 'schema');
    },
    async lookUp(subject, schema) {
      const answer = await call('POST', subjectPath(subject), { schema });
      if (isAbsent(answer)) return undefined;
      return integer(accepted(answer, `to look up a version of ${subject}`).id, 'id');
    },
    async register(subject, schema) {
      const answer = await call('POST', `${subjectPath(subject)}/versions`, { schema });
      return integer(accepted(answer, `to register a version of ${subject}`).id, 'id');
    },
    async compatibility(subject) {
      const answer = await call('GET', `/config/${encodeURIComponent(subject)}`);
      if (isAbsent(answer)) return undefined;
      // Registries disagree on the field's name.
      const { compatibilityLevel, compatibility } = accepted(answer, `to tell the compatibility of ${subject}`);
      const level = compatibilityLevel ?? compatibility;
      return typeof level === 'string' ? level.toUpperCase() : undefined;
    },
    async setCompatibility(subject, level) {
      const answer = await call('PUT', `/config/${encodeURIComponent(subject)}`, { compatibility: level });
      accepted(answer, `to set the compatibility of ${subject} to ${level}`);
    },
  };
}

interface Question {
  url: string;
  method: string;
  body?: object;
  timeoutMs: number;
}

/** A 4xx counts as an answer only with an error code in it: a proxy or a wrong path says 404 as well, and knows nothing of schemas. */
async function ask({ url, method, body, timeoutMs }: Question): Promise<RegistryAnswer> {
  try {
    const response = await fetch(url, {
      method,
      headers: { accept: 'application/vnd.schemaregistry.v1+json', 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const answer: unknown = await response.json();
    if (typeof answer !== 'object' || answer === null) throw new Error(`status ${response.status} without an object`);
    const fields = answer as Record<string, unknown>;
    const errorCode = typeof fields.error_code === 'number' ? fields.error_code : undefined;
    const refused = response.status >= 400 && response.status < 500 && errorCode !== undefined;
    if (!response.ok && !refused) throw new Error(`status ${response.status}`);
    return { status: response.status, errorCode, body: fields };
  } catch (cause) {
    throw new RegistryUnavailable(`The schema registry gave no usable answer: ${reason(cause)}`, { cause });
  }
}

/** Code of the network fault underneath, else the kind of error. */
function reason(cause: unknown): string {
  const { name, message, cause: inner } = cause as { name?: string; message?: string; cause?: { code?: string } };
  return inner?.code ?? (name === 'Error' ? message : name) ?? 'unknown cause';
}

/** Subject, version, schema or level not found. */
const isAbsent = ({ status }: RegistryAnswer): boolean => status === 404;

/** `asked` as in "refused to …". */
function accepted(answer: RegistryAnswer, asked: string): Record<string, unknown> {
  if (answer.status < 400) return answer.body;
  throw new SchemaRefused(`The schema registry refused ${asked} (${answer.errorCode}): ${String(answer.body.message).slice(0, 500)}`);
}

function integer(value: unknown, field: string): number {
  if (Number.isInteger(value)) return value as number;
  throw new RegistryUnavailable(`The schema registry's answer has no integer ${field}`);
}

function text(value: unknown, field: string): string {
  if (typeof value === 'string') return value;
  throw new RegistryUnavailable(`The schema registry's answer has no text ${field}`);
}
