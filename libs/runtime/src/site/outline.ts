import { z } from 'zod';
import type { SecretRef } from '../config/secrets.js';
import { readableDestination } from './check-destination.js';

/** A secret that the site file names, and where it does. */
export interface NamedSecret {
  /** Place in the file: `destinations.crm.secret`. */
  path: string;
  ref: SecretRef;
}

export interface DestinationOutline {
  /** In milliseconds; not a number where it cannot be read. */
  timeoutMs: number;
  /** Absent: as `timeoutMs`. */
  lookupTimeoutMs?: number;
  /** It is compared with what was delivered. */
  compared: boolean;
  secrets: NamedSecret[];
}

/** What other parts of the configuration are held against, of a site file that may be wrong elsewhere. */
export interface SiteOutline {
  destinations: Record<string, DestinationOutline>;
  channels: Record<string, { secrets: NamedSecret[] }>;
}

const anything = z.record(z.string(), z.unknown()).catch({});
const parts = z.object({ destinations: anything, channels: anything }).catch({ destinations: {}, channels: {} });

/** The outline of a document whose placeholders are filled in. */
export function outlineOf(document: unknown): SiteOutline {
  const { destinations, channels } = parts.parse(document);
  return {
    destinations: mapEntries(destinations, (value, name) => {
      const { timeout_ms: timeoutMs, lookup_timeout_ms: lookupTimeoutMs, reconcile } = readableDestination.parse(value);
      return {
        timeoutMs,
        lookupTimeoutMs,
        compared: reconcile !== undefined,
        secrets: secretNamed('secret', value, `destinations.${name}`),
      };
    }),
    channels: mapEntries(channels, (value, name) => ({ secrets: secretNamed('token', value, `channels.${name}`) })),
  };
}

const secretRef = z.union([z.strictObject({ file: z.string().min(1) }), z.strictObject({ env: z.string().min(1) })]);

/** By its name alone: an operation may be called `file`, and its path is no secret. All connectors keep theirs under the same name. */
function secretNamed(field: string, value: unknown, path: string): NamedSecret[] {
  const ref = secretRef.safeParse(anything.parse(value)[field]);
  return ref.success ? [{ path: `${path}.${field}`, ref: ref.data }] : [];
}

function mapEntries<T>(map: Record<string, unknown>, change: (value: unknown, name: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value, name)]));
}
