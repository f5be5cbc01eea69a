// Reads schemas and ids from a Confluent-compatible registry. Never registers one: a contract is registered by its owner's deployment.
import avsc, { type Type } from 'avsc';

const timeoutMs = 10_000;
const contentType = 'application/vnd.schemaregistry.v1+json';

/** The record will never be readable, or the registry answered that it has no such schema. A registry that is away is another error. */
export class Unreadable extends Error {}

class TimestampMillis extends avsc.types.LogicalType {
  protected override _fromValue(epochMs: number): Date {
    return new Date(epochMs);
  }
  protected override _toValue(date: unknown): number | undefined {
    return date instanceof Date ? date.getTime() : undefined;
  }
  protected override _resolve(writer: Type): ((value: unknown) => unknown) | undefined {
    return avsc.Type.isType(writer, 'long', 'logical:timestamp-millis')
      ? (value) => (value instanceof Date ? value : new Date(Number(value)))
      : undefined;
  }
}

/** An Avro type whose timestamps are `Date`s. */
export function avroType(schemaText: string): Type {
  return avsc.Type.forSchema(JSON.parse(schemaText), { logicalTypes: { 'timestamp-millis': TimestampMillis }, wrapUnions: false });
}

export class Registry {
  readonly #url: string;
  readonly #byId = new Map<number, Type>();

  constructor(url: string) {
    this.#url = url.replace(/\/+$/, '');
  }

  /** Id of exactly this schema under the subject. Throws Unreadable when its owner has not registered it yet. */
  async idOf(subject: string, schemaText: string): Promise<number> {
    const answer = await this.#call<{ id: number }>(`/subjects/${subject}?normalize=true`, { schema: schemaText });
    return answer.id;
  }

  /** Writer schema of an id, asked for once. Throws Unreadable, or the network's error while the registry is away. */
  async schema(id: number): Promise<Type> {
    const known = this.#byId.get(id);
    if (known) return known;
    const { schema } = await this.#call<{ schema: string }>(`/schemas/ids/${id}`);
    const type = avroType(schema);
    this.#byId.set(id, type);
    return type;
  }

  async #call<T>(path: string, body?: object): Promise<T> {
    const answer = await fetch(this.#url + path, {
      method: body ? 'POST' : 'GET',
      headers: { 'content-type': contentType, accept: contentType },
      body: body ? JSON.stringify(body) : null,
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (answer.status === 404) throw new Unreadable(`${this.#url}${path} is not known to the registry`);
    if (!answer.ok) throw new Error(`${this.#url}${path} answered ${answer.status}`);
    return (await answer.json()) as T;
  }
}
