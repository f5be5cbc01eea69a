import type { DestinationConfig } from '#runtime';
import type { OperationCall } from '../connector.js';
import { updatePath } from './lookup.js';
import { personField, type WebhookBody, without } from './mapping.js';

/** What a lead would have sent, with its text: one serialization serves its hash and its request. */
export interface Full {
  body: WebhookBody;
  text: string;
  hash: string;
}

export interface WriteRequest {
  method: 'POST' | 'PATCH' | 'PUT';
  path: string;
  body: WebhookBody;
  /** The body as it is sent. */
  text: string;
  /** It writes over a record that is there already. */
  changes: boolean;
  /** The record is named by its id. */
  known: boolean;
  /** It is written only while it has this version. */
  ifMatch?: string;
}

/** The operation that writes the person. */
export const contactKind = 'contact';

/** The request of one operation: a change of the record where that is known and the site file says how, else a new record. */
export function requestOf({ kind, contact, refs, compared }: OperationCall, full: Full, config: DestinationConfig): WriteRequest {
  const update = config.updates[kind];
  const ref = kind === contactKind ? contact?.ref : refs[kind];
  const known = ref !== undefined && update !== undefined;
  const body = without(full.body, [...(contact?.newer ?? []), ...(known ? notOurs(kind, config) : [])]);
  const text = body === full.body ? full.text : JSON.stringify(body);
  if (known) {
    const ifMatch = update.ifMatch ? compared?.version : undefined;
    return { method: update.method, path: updatePath(update.path, ref), body, text, changes: true, known, ifMatch };
  }
  const changes = contact !== undefined && contact.newer.length > 0;
  return { method: 'POST', path: config.paths[kind] ?? `/${kind}`, body, text, changes, known: false };
}

/**
 * What is written when a record is made and not when it is changed: fields whose truth is the destination's. Of a lead also those that
 * whoever wrote last is right about: a lead is submitted once, so that was somebody there.
 */
function notOurs(kind: string, config: DestinationConfig): string[] {
  const truths = Object.entries(config.reconcile?.fields ?? {});
  return truths.filter(([, truth]) => truth === 'theirs' || (truth === 'newest' && kind !== contactKind)).map(([name]) => topOf(name));
}

/**
 * A contact's id can be found out and is needed: by what is sent behind it, which would hang on nobody, or by the next lead of the person, which
 * would make another contact.
 */
export function needsContactRef({ lookup, operations, updates }: DestinationConfig): boolean {
  return Object.hasOwn(lookup, contactKind) && (operations.at(-1) !== contactKind || updates[contactKind] !== undefined);
}

/** It carries nothing but whose record it is. */
export const writesNothing = ({ body }: WriteRequest): boolean => Object.keys(body).every((name) => name === personField);

/** `custom` of `custom.owner`: a part of an object cannot be left out of a change without being emptied. */
const topOf = (name: string): string => name.split('.')[0] ?? name;
