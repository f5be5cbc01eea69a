import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type LeadAccepted, LeadAcceptedEvent } from '#contracts';
import { type Codec, createCodec } from './codec.js';
import { DecodeError, RegistryUnavailable } from './errors.js';

const servers: Server[] = [];

/** A registry that answers as told; gives its base URL and the paths it was asked for. */
async function registry(answer: RequestListener): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ccompat/`, asked };
}

const json =
  (status: number, body: object): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

const lead: LeadAccepted = {
  event_id: 'e1',
  event_type: 'lead.accepted',
  version: 1,
  lead_ref: 'L-1',
  organization: 'demo',
  source: 'website',
  source_event_ref: 'v1:00',
  form: null,
  campaign: null,
  submitted_at: new Date(0),
  accepted_at: new Date(0),
  deadline_at: new Date(0),
  policy: 'default',
  payload_hmac: 'v1:00',
  consent: true,
  test: false,
  destinations: [],
};
const stored = { subject: LeadAcceptedEvent.subject, version: 1, id: 1, schema: LeadAcceptedEvent.schema };
const own = createCodec({ known: [stored] });
const ofId = (id: number): Buffer => {
  const bytes = own.encode(LeadAcceptedEvent, lead);
  bytes.writeInt32BE(id, 1);
  return bytes;
};
const read = async (codec: Codec, bytes: Buffer): Promise<LeadAccepted> => codec.decode(LeadAcceptedEvent, bytes);

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

describe('a schema id that is not stored', () => {
  it('is asked for once, then read at once', async () => {
    const { url, asked } = await registry(json(200, { schema: LeadAcceptedEvent.schema }));
    const codec = createCodec({ known: [], registryUrl: url });
    const both = await Promise.all([read(codec, ofId(77)), read(codec, ofId(77))]);
    expect(both).toEqual([lead, lead]);
    expect(codec.decode(LeadAcceptedEvent, ofId(77))).toEqual(lead);
    expect(asked).toEqual(['GET /ccompat/schemas/ids/77']);
  });

  it('that the registry denies is unknown, and is asked for again only after a minute', async () => {
    const { url, asked } = await registry(json(404, { error_code: 40403, message: 'Schema not found' }));
    const codec = createCodec({ known: [], registryUrl: url });
    const refusals = await Promise.all(Array.from({ length: 1_000 }, () => read(codec, ofId(999_999)).catch((error: unknown) => error)));
    expect(refusals.every((error) => error instanceof DecodeError && error.reason === 'unknown_schema')).toBe(true);
    expect(asked).toHaveLength(1);
    const now = performance.now();
    const clock = jest.spyOn(performance, 'now');
    clock.mockReturnValue(now + 59_000);
    await expect(read(codec, ofId(999_999))).rejects.toMatchObject({ reason: 'unknown_schema' });
    expect(asked).toHaveLength(1);
    clock.mockReturnValue(now + 61_000);
    await expect(read(codec, ofId(999_999))).rejects.toMatchObject({ reason: 'unknown_schema' });
    expect(asked).toHaveLength(2);
  });

  it('without a registry to ask is unknown at once', async () => {
    await expect(read(createCodec({ known: [stored] }), ofId(77))).rejects.toMatchObject({ reason: 'unknown_schema' });
  });

  it('whose schema is no Avro schema is undecodable', async () => {
    const { url } = await registry(json(200, { schema: 'syntax = "proto3";', schemaType: 'PROTOBUF' }));
    await expect(read(createCodec({ known: [], registryUrl: url }), ofId(5))).rejects.toMatchObject({ reason: 'undecodable' });
  });
});

describe('a registry that gives no usable answer is a pause, never a verdict', () => {
  it.each<[string, RequestListener]>([
    ['its own fault', json(500, { error_code: 50001, message: 'Error in the backend data store' })],
    ['a fault without JSON', (_request, response) => response.writeHead(503).end('down')],
    [
      'a 404 that is not the registry speaking',
      (_request, response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<html>'),
    ],
    ['a 404 in JSON without an error code', json(404, { title: 'Not Found' })],
    ['a refusal to talk to us', json(401, { error_code: 40101, message: 'Unauthorized' })],
    ['an answer without a schema', json(200, {})],
    ['a connection cut short', (request) => request.socket.destroy()],
  ])('%s', async (_name, answer) => {
    const { url } = await registry(answer);
    const codec = createCodec({ known: [], registryUrl: url });
    await expect(read(codec, ofId(77))).rejects.toBeInstanceOf(RegistryUnavailable);
  });

  it('nobody listening', async () => {
    const { url } = await registry(() => undefined);
    await new Promise((resolve) => servers.pop()?.close(resolve));
    const codec = createCodec({ known: [], registryUrl: url });
    await expect(read(codec, ofId(77))).rejects.toThrow('ECONNREFUSED');
  });

  it('a request held open, before and after the headers, ends at the time limit', async () => {
    const silent = await registry(() => undefined);
    const stalled = await registry((_request, response) => response.writeHead(200).write('{"schema":'));
    for (const { url } of [silent, stalled]) {
      const codec = createCodec({ known: [], registryUrl: url, timeoutMs: 50 });
      await expect(read(codec, ofId(77))).rejects.toBeInstanceOf(RegistryUnavailable);
    }
  });

  it('and is asked again the next time', async () => {
    let up = false;
    const { url } = await registry((request, response) =>
      (up ? json(200, { schema: LeadAcceptedEvent.schema }) : json(500, {}))(request, response),
    );
    const codec = createCodec({ known: [], registryUrl: url });
    await expect(read(codec, ofId(77))).rejects.toBeInstanceOf(RegistryUnavailable);
    up = true;
    await expect(read(codec, ofId(77))).resolves.toEqual(lead);
  });

  it('and is never asked for what is stored', () => {
    const codec = createCodec({ known: [stored], registryUrl: 'http://127.0.0.1:1/ccompat' });
    expect(codec.decode(LeadAcceptedEvent, codec.encode(LeadAcceptedEvent, lead))).toEqual(lead);
  });
});
