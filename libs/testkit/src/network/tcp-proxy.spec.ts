import { Agent, createServer, request as httpRequest, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, pause } from '../process/wait.js';
import { openTcpProxy, type TcpProxy } from './tcp-proxy.js';

describe('the TCP proxy', () => {
  let server: Server;
  let executed: string[];
  let proxy: TcpProxy;
  let agent: Agent;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    executed = [];
    server = createServer((req, res) => {
      let body = '';
      req.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      req.on('end', () => {
        executed.push(body);
        res.end(`done ${body}`);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    proxy = await openTcpProxy({ target: { port: (server.address() as AddressInfo).port } });
    agent = new Agent({ keepAlive: true, maxSockets: 1 });
  });
  afterEach(async () => {
    agent.destroy();
    for (const socket of sockets.splice(0)) socket.destroy();
    await proxy.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  /** The body of the answer, or the code of the error. */
  const ask = (body: string, timeoutMs = 5_000): Promise<string> =>
    new Promise((resolve) => {
      const req = httpRequest({ host: proxy.host, port: proxy.port, method: 'POST', agent, timeout: timeoutMs }, (res) => {
        let text = '';
        res.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        res.on('end', () => resolve(text));
        res.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
      });
      req.on('timeout', () => {
        resolve('timeout');
        req.destroy();
      });
      req.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
      req.end(body);
    });

  it('passes exchanges on, several over one connection, and counts none of them', async () => {
    expect([await ask('a'), await ask('b')]).toEqual(['done a', 'done b']);
    expect([proxy.open, proxy.hits]).toEqual([1, 0]);
  });

  it('refuses connections, cuts those that are open, and listens at the same port again', async () => {
    await ask('a');
    await proxy.refuse();
    await eventually('the client to notice', () => Object.keys(agent.freeSockets).length === 0);
    expect(await ask('b')).toBe('ECONNREFUSED');
    expect([proxy.open, proxy.hits]).toEqual([0, 1]);
    await proxy.heal();
    expect(await ask('c')).toBe('done c');
    expect(executed).toEqual(['a', 'c']);
  });

  it('delays the answer and not the request, on a connection that is open already', async () => {
    await ask('a');
    proxy.delay(150);
    const begun = performance.now();
    const late = ask('b');
    await eventually('the request', () => executed.includes('b'));
    expect(await late).toBe('done b');
    expect(performance.now() - begun).toBeGreaterThanOrEqual(149);
    expect(proxy.hits).toBe(1);
  });

  it('goes on past a client that gave up before a late answer', async () => {
    proxy.delay(200);
    expect(await ask('a', 50)).toBe('timeout');
    await eventually('the request', () => executed.includes('a'));
    await proxy.heal();
    expect(await ask('b')).toBe('done b');
  });

  it('resets before the target has seen anything', async () => {
    await ask('a');
    proxy.reset('before');
    expect(await ask('b')).toBe('ECONNRESET');
    await proxy.heal();
    expect(await ask('c')).toBe('done c');
    expect([executed, proxy.hits]).toEqual([['a', 'c'], 1]);
  });

  it('resets after the target has done its work, as often as it was told', async () => {
    proxy.reset('after', { times: 1 });
    expect(await ask('a')).toBe('ECONNRESET');
    expect(await ask('b')).toBe('done b');
    expect([executed, proxy.hits]).toEqual([['a', 'b'], 1]);
  });

  it('resets in the middle of an answer', async () => {
    proxy.reset('after', { bytes: 20 });
    const socket = connect({ host: proxy.host, port: proxy.port });
    sockets.push(socket);
    let heard = '';
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.toString();
    });
    const broken = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\na');
    await broken;
    expect([heard.length, executed]).toEqual([20, ['a']]);
  });

  it('keeps both sides connected in a black hole, and cuts them when it is healed', async () => {
    await ask('a');
    proxy.blackhole();
    expect(await Promise.race([ask('b'), pause(200).then(() => 'silence')])).toBe('silence');
    expect([proxy.open, proxy.hits, executed]).toEqual([1, 1, ['a']]);
    await proxy.heal();
    expect(await ask('c')).toBe('done c');
    expect(executed).toEqual(['a', 'c']);
  });

  it('takes new connections into a black hole as well', async () => {
    proxy.blackhole();
    expect(await ask('a', 100)).toBe('timeout');
    expect([proxy.hits, executed]).toEqual([1, []]);
  });
});
