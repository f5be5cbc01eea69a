import { DecodeError } from './errors.js';
import { type RegistryClient, registryClient } from './registry-client.js';
import type { SchemaIds } from './schema-ids.js';

export interface WriterSchemasOptions {
  known: SchemaIds;
  registryUrl?: string;
  timeoutMs: number;
}

/** How long an id stays unknown before the registry is asked again. */
const unknownForMs = 60_000;
/** A producer gone mad could name a new id in every record. */
const maxUnknown = 10_000;

export interface WriterSchemas {
  /**
   * Schema text of an id. Ids stored for the subject come first: another registry may have used the same number for something else.
   * @throws DecodeError unknown_schema, RegistryUnavailable (both also as rejection).
   */
  schemaOf(subject: string, id: number): string | Promise<string>;
}

/** Stored schemas first, then the registry: one question per id at a time, and none for an id it has just denied. */
export function writerSchemas({ known, registryUrl, timeoutMs }: WriterSchemasOptions): WriterSchemas {
  const stored = new Map(known.map(({ subject, id, schema }) => [`${subject} ${id}`, schema]));
  const registry = registryUrl === undefined ? undefined : registryClient({ url: registryUrl, timeoutMs });
  const fetched = new Map<number, string>();
  const asking = new Map<number, Promise<string>>();
  const deniedUntilMs = new Map<number, number>();

  const deny = (id: number): never => {
    if (deniedUntilMs.size >= maxUnknown) deniedUntilMs.clear();
    deniedUntilMs.set(id, performance.now() + unknownForMs);
    throw unknown(id);
  };
  const ask = async (client: RegistryClient, id: number): Promise<string> => {
    const schema = await client.schemaById(id);
    if (schema === undefined) return deny(id);
    fetched.set(id, schema);
    return schema;
  };

  return {
    schemaOf(subject, id) {
      const here = stored.get(`${subject} ${id}`) ?? fetched.get(id);
      if (here !== undefined) return here;
      if (id < 0 || registry === undefined || (deniedUntilMs.get(id) ?? 0) > performance.now()) throw unknown(id);
      const running = asking.get(id) ?? ask(registry, id).finally(() => asking.delete(id));
      asking.set(id, running);
      return running;
    },
  };
}

const unknown = (id: number): DecodeError => new DecodeError('unknown_schema', `schema id ${id} is not known to the registry`);
