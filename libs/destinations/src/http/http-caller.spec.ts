import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { HttpCaller, type HttpCallerOptions } from './http-caller.js';

describe('the HTTP caller', () => {
  const closing: (() => Promise<unknown> | unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  const serve = async (listener: RequestListener): Promise<string> => {
    const server: Server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const callerOf = (baseUrl: string, options: Partial<HttpCallerOptions> = {}): HttpCaller => {
    const caller = new HttpCaller({ baseUrl, connectTimeoutMs: 500, connections: 2, ...options });
    closing.push(() => caller.close());
    return caller;
  };
  const post = (caller: HttpCaller, timeoutMs = 2_000) =>
    caller.call({ method: 'POST', path: '/x', headers: ['content-type', 'application/json'], body: '{"a":1}', timeoutMs });
  const unusedPort = async (): Promise<number> => {
    const server = createTcpServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    return port;
  };

  it('posts to the base URL’s path and gives status, headers and body', async () => {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      request.on('data', (chunk) => seen.push(String(chunk)));
      request.on('end', () => response.writeHead(201, { 'x-request-id': 'r-1' }).end(`{"url":"${request.url}"}`));
    });
    expect(await post(callerOf(`${url}/crm/`))).toMatchObject({
      kind: 'answered',
      status: 201,
      headers: { 'x-request-id': 'r-1' },
      body: '{"url":"/crm/x"}',
    });
    expect(seen.join('')).toBe('{"a":1}');
  });

  it('knows that nothing was sent where nobody listens', async () => {
    expect(await post(callerOf(`http://127.0.0.1:${await unusedPort()}`))).toEqual({ kind: 'not_sent', code: 'econnrefused' });
  });

  it('knows that nothing was sent where the name does not exist', async () => {
    expect(await post(callerOf('http://crm.invalid'))).toMatchObject({ kind: 'not_sent' });
  });

  it('knows that nothing was sent where TLS fails', async () => {
    const url = await serve((_request, response) => response.end());
    expect(await post(callerOf(url.replace('http:', 'https:')))).toMatchObject({ kind: 'not_sent' });
  });

  it('gives up at the limit of the whole call, and cannot know what became of it', async () => {
    const url = await serve(() => {});
    expect(await post(callerOf(url), 100)).toEqual({ kind: 'no_answer', code: 'timeout' });
  });

  it('gives up on an answer that trickles', async () => {
    const url = await serve((_request, response) => {
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    });
    expect(await post(callerOf(url), 150)).toEqual({ kind: 'no_answer', code: 'timeout' });
  });

  it('knows that a call that only waited for a connection was not sent', async () => {
    let reached = 0;
    const url = await serve(() => reached++);
    const caller = callerOf(url, { connections: 1 });
    const first = post(caller, 400);
    expect(await post(caller, 100)).toEqual({ kind: 'not_sent', code: 'timeout' });
    expect(await first).toMatchObject({ kind: 'no_answer' });
    expect(reached).toBe(1);
  });

  it('cannot know what became of a call whose connection was reset', async () => {
    const url = await serve((request) => request.socket.destroy());
    expect(await post(callerOf(url))).toMatchObject({ kind: 'no_answer' });
  });

  it('follows no redirect', async () => {
    let requests = 0;
    const url = await serve((_request, response) => {
      requests++;
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    expect(await post(callerOf(url))).toMatchObject({ kind: 'answered', status: 307 });
    expect(requests).toBe(1);
  });

  it('reads no more of an answer than it may', async () => {
    const url = await serve((_request, response) => response.end('x'.repeat(200_000)));
    expect(await post(callerOf(url))).toEqual({ kind: 'answered', status: 200, headers: expect.anything() });
  });

  it('never has more calls under way than connections', async () => {
    let now = 0;
    let most = 0;
    const url = await serve((_request, response) => {
      most = Math.max(most, ++now);
      setTimeout(() => {
        now--;
        response.end('{}');
      }, 5);
    });
    const caller = callerOf(url, { connections: 3 });
    await Promise.all(Array.from({ length: 40 }, () => post(caller)));
    expect(most).toBe(3);
  });
});
