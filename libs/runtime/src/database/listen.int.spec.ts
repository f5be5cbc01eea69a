import type { AddressInfo } from 'node:net';
import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { eventually, type TestDatabase, testDatabase } from '#testkit';
import { type Listener, listen } from './listen.js';

let fresh: TestDatabase;
let sender: pg.Client;
let listener: Listener | undefined;
let proxy: Proxy | undefined;

beforeAll(async () => {
  fresh = await testDatabase('listen');
  sender = new pg.Client({ connectionString: fresh.url });
  await sender.connect();
});

afterEach(async () => {
  await listener?.stop();
  await proxy?.close();
  listener = undefined;
  proxy = undefined;
});

afterAll(async () => {
  await sender.end();
  await fresh.drop();
});

/** A listener that notes what it hears; `connects` counts calls of onReconnect. */
async function start(url: string, probeEveryMs?: number) {
  const heard: string[] = [];
  const counts = { connects: 0 };
  listener = await listen({
    url,
    channel: 'ld_spec',
    applicationName: 'listen-spec',
    probeEveryMs,
    onNotify: (payload) => heard.push(payload),
    onReconnect: () => {
      counts.connects += 1;
    },
  });
  return { heard, counts };
}

const notify = (payload: string) => sender.query('select pg_notify($1, $2)', ['ld_spec', payload]);

interface Proxy {
  url: string;
  /** Stops passing bytes in either direction without closing anything: a half-open connection. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

async function freezableProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let frozen = false;
  const pass = (from: Socket, to: Socket) => from.on('data', (chunk) => (frozen ? undefined : to.write(chunk)));
  const server: Server = createServer((near) => {
    const far = connectTcp(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    near.on('end', () => frozen || far.end());
    far.on('end', () => frozen || near.end());
    pass(near, far);
    pass(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  url.hostname = '127.0.0.1';
  return {
    url: url.href,
    freeze: () => {
      frozen = true;
    },
    thaw: () => {
      frozen = false;
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

describe('listen', () => {
  it('hears notifications and says once that it is connected', async () => {
    const { heard, counts } = await start(fresh.url);
    await eventually('connection 1', () => counts.connects === 1);
    await notify('one');
    await notify('two');
    await eventually('both notifications', () => heard.length === 2);
    expect(heard).toEqual(['one', 'two']);
    expect(listener?.connected).toBe(true);
  });

  it('opens a new connection when its backend is killed, and says so', async () => {
    const { heard, counts } = await start(fresh.url);
    await eventually('connection 1', () => counts.connects === 1);
    await sender.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listen-spec'`);
    await eventually('connection 2', () => counts.connects === 2);
    await notify('after');
    await eventually('the notification', () => heard.length > 0);
    expect(heard).toEqual(['after']);
  });

  it('notices by its probe that a connection is half open', async () => {
    proxy = await freezableProxy(fresh.url);
    const { heard, counts } = await start(proxy.url, 100);
    await eventually('connection 1', () => counts.connects === 1);
    proxy.freeze();
    await notify('lost');
    await eventually('the connection is given up', () => listener?.connected === false);
    proxy.thaw();
    await eventually('connection 2', () => counts.connects === 2);
    await notify('heard');
    await eventually('the notification', () => heard.length > 0);
    expect(heard).toEqual(['heard']);
  }, 40_000);

  it('waits for a database that is not there yet', async () => {
    proxy = await freezableProxy(fresh.url);
    const { url } = proxy;
    await proxy.close();
    const { counts } = await start(url);
    expect(listener?.connected).toBe(false);
    expect(counts.connects).toBe(0);
    await listener?.stop();
  });
});
