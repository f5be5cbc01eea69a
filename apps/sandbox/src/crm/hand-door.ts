import { type Answer, type Call, jsonObject } from '../http/call.js';
import { type CrmKind, crmKinds, keyField, type Writing } from './crm-record.js';
import type { CrmStore } from './crm-store.js';

const mostAtOnce = 2_000;
const oneRecord = /^\/control\/records\/([^/]+)(\/copy)?$/;

/**
 * What people and other programs do at the CRM itself, past its API and its faults: nothing here counts as a request.
 * - `POST /control/records/lead` or `/contact`: one record of the fields sent, with or without an id of ours, or an array of them → `{ids}`
 * - `POST /control/records/{id}/copy` → `{id}` of another record with the same fields
 * - `PATCH /control/records/{id}`: fields as somebody types them over the old ones; `null` empties one
 * - `DELETE /control/records/{id}`
 * `?by=us` says that our own credentials did it, for tests that need many records at once.
 * @returns undefined for any other path
 */
export function byHand(store: CrmStore, call: Call): Answer | undefined {
  const [, name = '', copied] = oneRecord.exec(call.path) ?? [];
  if (name === '') return undefined;
  const kind = crmKinds.find((known) => known === name);
  if (kind !== undefined) return call.method === 'POST' ? typeIn(store, kind, call) : refuse(405, 'use POST');
  const record = store.record(name);
  if (record === undefined) return refuse(404, 'not_found');
  if (copied !== undefined) {
    if (call.method !== 'POST') return refuse(405, 'use POST');
    return { status: 201, body: { id: store.create(record.kind, record.key, typing(call, record.text)).id } };
  }
  if (call.method === 'DELETE') {
    store.remove(record);
    return { status: 200, body: { id: record.id } };
  }
  if (call.method !== 'PATCH') return refuse(405, 'use PATCH or DELETE');
  const fields = jsonObject(call.body);
  if (fields === undefined) return refuse(400, 'the body is not a JSON object');
  return { status: 200, body: { id: store.update(record, typing(call, call.body)).id } };
}

function typeIn(store: CrmStore, kind: CrmKind, call: Call): Answer {
  const bodies = records(call.body);
  if (bodies === undefined) return refuse(400, `the body is no JSON object, and no array of up to ${mostAtOnce} of them`);
  const ids = bodies.map((fields) => {
    const key = fields[keyField[kind]];
    return store.create(kind, typeof key === 'string' ? key : '', typing(call, JSON.stringify(fields))).id;
  });
  return { status: 201, body: { ids } };
}

function records(text: string): Record<string, unknown>[] | undefined {
  const single = jsonObject(text);
  if (single !== undefined) return [single];
  try {
    const list: unknown = JSON.parse(text);
    const isList = Array.isArray(list) && list.length <= mostAtOnce && list.every((item) => typeof item === 'object' && item !== null);
    return isList ? (list as Record<string, unknown>[]) : undefined;
  } catch {
    return undefined;
  }
}

const typing = ({ query, receivedMs }: Call, text: string): Writing => ({
  text,
  by: query.get('by') === 'us' ? 'us' : 'other',
  receivedMs,
});

const refuse = (status: number, error: string): Answer => ({ status, body: { error } });
