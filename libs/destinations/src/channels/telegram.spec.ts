import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Channel } from './channel.js';
import { createTelegramChannel } from './telegram.js';

const token = '123:secret-token';
const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const trace = { traceparent, traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true };

describe('the Telegram channel', () => {
  let server: Server | undefined;
  let channel: Channel;

  const serve = async (listener: RequestListener): Promise<void> => {
    server = createServer(listener);
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    channel = createTelegramChannel({ name: 'sales', apiUrl: `http://127.0.0.1:${port}/chat/`, token, chatId: '-1001' });
  };
  const send = (timeoutMs = 5_000) => channel.send({ text: 'hello' }, { timeoutMs, trace });

  afterEach(async () => {
    await channel.close();
    server?.closeAllConnections();
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
    server = undefined;
  });

  it('posts chat and text under the token, with the trace context, and keeps the message id', async () => {
    const seen: unknown[] = [];
    await serve((req, res) => {
      let body = '';
      req.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      req.on('end', () => {
        seen.push(req.url, JSON.parse(body), req.headers.traceparent);
        res.end('{"ok":true,"result":{"message_id":42}}');
      });
    });
    expect(await send()).toEqual({ kind: 'succeeded', status: 200, ref: '42' });
    expect(seen).toEqual([`/chat/bot${token}/sendMessage`, { chat_id: '-1001', text: 'hello' }, traceparent]);
  });

  it('knows that a refused connection sent nothing', async () => {
    await serve(() => undefined);
    await new Promise((resolve) => server?.close(resolve));
    expect(await send()).toEqual({ kind: 'transient', code: 'econnrefused', provablyNotExecuted: true });
  });

  it('knows that an unknown host was sent nothing', async () => {
    channel = createTelegramChannel({ name: 'sales', apiUrl: 'http://chat.invalid', token, chatId: '1' });
    expect(await send()).toMatchObject({ kind: 'transient', provablyNotExecuted: true });
  });

  it('does not know after silence', async () => {
    await serve(() => undefined);
    expect(await send(50)).toEqual({ kind: 'uncertain', code: 'timeout' });
  });

  it('does not know after a torn connection, and says nothing of the token', async () => {
    await serve((req) => {
      req.socket.resetAndDestroy();
    });
    const outcome = await send();
    expect(outcome.kind).toBe('uncertain');
    expect(JSON.stringify(outcome)).not.toContain('secret-token');
  });

  it('does not know when the answer breaks off', async () => {
    await serve((_req, res) => {
      res.writeHead(200, { 'content-length': '100' });
      res.write('{"ok":');
      setTimeout(() => res.socket?.resetAndDestroy(), 20);
    });
    expect((await send()).kind).toBe('uncertain');
  });
});
