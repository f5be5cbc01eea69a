import { type ChildProcess, spawn } from 'node:child_process';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { readAnswer } from '../webhook/answer.js';
import type { CallLimits } from './call-timer.js';
import { type HttpCall, HttpCaller, type HttpResult } from './http-caller.js';

/** Far apart: which of them ended a call shows in its code, on a busy machine too. */
const connectTimeoutMs = 300;
const totalMs = 4_000;

interface Timed {
  result: HttpResult;
  tookMs: number;
}

describe('the limits of a call', () => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  const listening = async (server: Server): Promise<number> => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    return (server.address() as AddressInfo).port;
  };
  const http = (listener: RequestListener): Promise<number> => listening(createHttpServer(listener));
  const tcp = (onConnection: (socket: Socket) => void): Promise<number> =>
    listening(
      createServer((socket) => {
        closing.push(() => socket.destroy());
        socket.on('error', () => undefined);
        onConnection(socket);
      }),
    );
  const timed = async (baseUrl: string, call: Partial<HttpCall> = {}, caller?: HttpCaller): Promise<Timed> => {
    const through = caller ?? new HttpCaller({ baseUrl, connectTimeoutMs, connections: 4 });
    if (caller === undefined) closing.push(() => through.close());
    const startedAt = performance.now();
    const headers = ['content-type', 'application/json'];
    const result = await through.call({ method: 'POST', path: '/leads', headers, body: '{}', timeoutMs: totalMs, ...call });
    return { result, tookMs: performance.now() - startedAt };
  };

  /** A server that is there and takes no connection any more: its queue is full and nobody empties it. */
  async function blackhole(): Promise<number> {
    const program = `const s=require('net').createServer();s.listen({port:0,host:'127.0.0.1',backlog:1},()=>console.log(s.address().port))`;
    const child: ChildProcess = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    closing.push(() => child.kill('SIGKILL'));
    const port = await new Promise<number>((resolve) => child.stdout?.once('data', (data: Buffer) => resolve(Number(data.toString()))));
    child.kill('SIGSTOP');
    for (let index = 0; index < 8; index++) {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => undefined);
      closing.push(() => socket.destroy());
    }
    return port;
  }

  it.each([
    ['a closed port', 'http://127.0.0.1:1', 'econnrefused'],
    ['a name that nobody has', 'http://crm.invalid', /^(enotfound|eai_again)$/],
  ])('end at once with nothing sent for %s', async (_name, url, code) => {
    const { result } = await timed(url);
    expect(result).toEqual({ kind: 'not_sent', code: typeof code === 'string' ? code : expect.stringMatching(code) });
  });

  it('end a connect that is never answered before the whole call’s, with nothing sent', async () => {
    const { result } = await timed(`http://127.0.0.1:${await blackhole()}`);
    expect(result).toEqual({ kind: 'not_sent', code: 'connect_timeout' });
  });

  it('end a connect at the whole call’s where that is shorter', async () => {
    const { result } = await timed(`http://127.0.0.1:${await blackhole()}`, { timeoutMs: 50 });
    expect(result).toEqual({ kind: 'not_sent', code: 'timeout' });
  });

  it('end a TLS handshake that never ends as a connect, with nothing sent', async () => {
    const { result } = await timed(`https://127.0.0.1:${await tcp(() => undefined)}`);
    expect(result).toEqual({ kind: 'not_sent', code: 'connect_timeout' });
  });

  it.each([
    ['no TLS', (socket: Socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['a reset', (socket: Socket) => socket.resetAndDestroy()],
  ])('end with nothing sent where a TLS handshake meets %s', async (_name, meet) => {
    const { result } = await timed(`https://127.0.0.1:${await tcp(meet)}`);
    expect(result).toEqual({ kind: 'not_sent', code: expect.any(String) });
  });

  it('let a connected call take longer than a connect may', async () => {
    const port = await http((_request, response) => setTimeout(() => response.end('{}'), 3 * connectTimeoutMs));
    const { result } = await timed(`http://127.0.0.1:${port}`);
    expect(result).toMatchObject({ kind: 'answered', status: 200 });
  });

  it.each<[string, RequestListener]>([
    ['does not answer', () => undefined],
    ['begins an answer and stops', (_request, response) => void response.writeHead(200).write('{"id":')],
    ['promises more than it sends', (_request, response) => void response.writeHead(200, { 'content-length': '100' }).write('{}')],
    ['trickles', (_request, response) => void setInterval(() => response.write(' '), 10).unref()],
  ])('are the whole call’s where a server %s: nobody knows what it did', async (_name, listener) => {
    const { result } = await timed(`http://127.0.0.1:${await http(listener)}`, { timeoutMs: 200 });
    expect(result).toEqual({ kind: 'no_answer', code: 'timeout' });
  });

  it.each<[string, (socket: Socket) => void]>([
    ['resets on the request', (socket) => socket.once('data', () => socket.resetAndDestroy())],
    ['closes on the request', (socket) => socket.once('data', () => socket.destroy())],
    ['breaks off its answer', (socket) => socket.once('data', () => socket.end('HTTP/1.1 201 Created\r\ncontent-length: 90\r\n\r\n{'))],
    ['answers no HTTP', (socket) => socket.once('data', () => socket.end('hello'))],
  ])('leave it open what was done where a server %s', async (_name, meet) => {
    const { result } = await timed(`http://127.0.0.1:${await tcp(meet)}`);
    expect(result).toMatchObject({ kind: 'no_answer' });
  });

  describe('of the parts of a connected call', () => {
    const partMs = 250;
    const outcome = (result: HttpResult) => readAnswer(result, { nowMs: 0, operation: 'lead', errors: [], canLookUp: false });
    const limited = (port: number, callLimits: CallLimits, call: Partial<HttpCall> = {}): Promise<Timed> => {
      const caller = new HttpCaller({ baseUrl: `http://127.0.0.1:${port}`, connectTimeoutMs, connections: 4, callLimits });
      closing.push(() => caller.close());
      return timed('', call, caller);
    };
    /** More than the network between two processes takes over unread. */
    const body = 'x'.repeat(32 * 1024 * 1024);

    it.each<[string, CallLimits, () => Promise<number>, Partial<HttpCall>, string]>([
      ['write', { writeMs: partMs }, () => tcp((socket) => socket.pause()), { body }, 'write_timeout'],
      ['first byte', { firstByteMs: partMs }, () => http(() => undefined), {}, 'first_byte_timeout'],
      ['read', { readMs: partMs }, () => http((_request, response) => void response.writeHead(200).write('{"id":')), {}, 'read_timeout'],
      [
        'read, although more comes all the time',
        { readMs: partMs },
        () => http((_request, response) => void setInterval(() => response.write(' '), 10).unref()),
        {},
        'read_timeout',
      ],
    ])('end a call that stalls at its %s before the whole call’s: nobody knows what it did', async (_name, limits, serve, call, code) => {
      const { result, tookMs } = await limited(await serve(), limits, call);
      expect(result).toEqual({ kind: 'no_answer', code });
      expect(outcome(result)).toEqual({ kind: 'uncertain', code });
      expect(tookMs).toBeGreaterThan(partMs - 2);
    });

    it('end a call that never connects as one that was not executed', async () => {
      const { result } = await limited(await blackhole(), { writeMs: 10, firstByteMs: 10, readMs: 10 });
      expect(outcome(result)).toEqual({ kind: 'transient', code: 'connect_timeout', provablyNotExecuted: true });
    });

    it('begin anew with each part: together they may take longer than each of them', async () => {
      const port = await http((_request, response) => {
        setTimeout(() => response.writeHead(200).write('{}'), 600);
        setTimeout(() => response.end(), 1_200);
      });
      const { result, tookMs } = await limited(port, { writeMs: 1_000, firstByteMs: 1_000, readMs: 1_000 });
      expect(result).toMatchObject({ kind: 'answered', body: '{}' });
      expect(tookMs).toBeGreaterThan(1_000);
    });

    it('begin the reading with the answer itself, not with an interim one', async () => {
      const port = await tcp((socket) => {
        socket.once('data', () => {
          socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n');
          setTimeout(() => socket.end('HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}'), 3 * partMs);
        });
      });
      const { result } = await limited(port, { readMs: partMs, firstByteMs: totalMs });
      expect(result).toMatchObject({ kind: 'answered', status: 201, body: '{}' });
    });

    it('begin the wait for the first byte only when a long request has been written', async () => {
      const port = await tcp((socket) => {
        socket.pause();
        setTimeout(() => socket.resume(), partMs);
        let seen = 0;
        socket.on('data', (chunk: Buffer) => {
          seen += chunk.length;
          if (seen > body.length) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
        });
      });
      const { result } = await limited(port, { firstByteMs: partMs / 2, writeMs: totalMs }, { body });
      expect(result).toMatchObject({ kind: 'answered' });
    });

    it('never go beyond the whole call’s', async () => {
      const { result } = await limited(await http(() => undefined), { firstByteMs: totalMs }, { timeoutMs: partMs });
      expect(result).toEqual({ kind: 'no_answer', code: 'timeout' });
    });
  });

  it('hold for each call apart on one pool: a short lookup does not cut a long write', async () => {
    const port = await http((_request, response) => setTimeout(() => response.end('[]'), 700));
    const caller = new HttpCaller({ baseUrl: `http://127.0.0.1:${port}`, connectTimeoutMs, connections: 4 });
    closing.push(() => caller.close());
    const [write, lookup] = await Promise.all([
      timed('', {}, caller),
      timed('', { method: 'GET', body: undefined, timeoutMs: 200 }, caller),
    ]);
    expect(write.result).toMatchObject({ kind: 'answered' });
    expect(lookup.result).toEqual({ kind: 'no_answer', code: 'timeout' });
    expect(lookup.tookMs).toBeLessThan(write.tookMs);
  });

  it('leave no call to a server that comes to it late: what timed out while it waited is never sent', async () => {
    let reached = 0;
    const port = await http((_request, response) => {
      reached++;
      setTimeout(() => response.end('{}'), 300);
    });
    const caller = new HttpCaller({ baseUrl: `http://127.0.0.1:${port}`, connectTimeoutMs, connections: 1 });
    closing.push(() => caller.close());
    const [first, second] = await Promise.all([timed('', {}, caller), timed('', { timeoutMs: 100 }, caller)]);
    expect([first.result.kind, second.result.kind]).toEqual(['answered', 'not_sent']);
    expect((await timed('', {}, caller)).result.kind).toBe('answered');
    expect(reached).toBe(2);
  });
});
