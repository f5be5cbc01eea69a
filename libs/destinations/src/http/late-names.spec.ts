import dns from 'node:dns';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '#testkit';
import { HttpCaller, type HttpResult } from './http-caller.js';

const connectTimeoutMs = 300;
const timeoutMs = 4_000;

describe('a call whose host name is resolved late', () => {
  let server: Server;
  let requests: number;
  let caller: HttpCaller;
  let told: number;
  let open: (limitMs: number) => void;

  beforeEach(async () => {
    requests = 0;
    told = 0;
    server = createServer((_request, response) => {
      requests += 1;
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    open = (limitMs) => {
      caller = new HttpCaller({ baseUrl: `http://late.test:${port}`, connectTimeoutMs: limitMs, connections: 1 });
    };
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await caller.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  /** Every name is this machine, and is told to be so after `ms`. */
  function resolveAfter(ms: number): void {
    const lookup = (_name: string, _options: dns.LookupAllOptions, callback: (error: null, found: dns.LookupAddress[]) => void): void => {
      setTimeout(() => {
        told += 1;
        callback(null, [{ address: '127.0.0.1', family: 4 }]);
      }, ms);
    };
    jest.spyOn(dns, 'lookup').mockImplementation(lookup as typeof dns.lookup);
  }
  const call = (): Promise<HttpResult> =>
    caller.call({ method: 'POST', path: '/leads', headers: ['content-type', 'application/json'], body: '{}', timeoutMs });

  it('is made, in time for a connect', async () => {
    open(10 * connectTimeoutMs);
    resolveAfter(connectTimeoutMs / 6);
    expect(await call()).toMatchObject({ kind: 'answered', status: 200 });
    expect([told, requests]).toEqual([1, 1]);
  });

  it('ends as a connect when that is too late, with nothing sent then or later', async () => {
    open(connectTimeoutMs);
    resolveAfter(5 * connectTimeoutMs);
    expect(await call()).toEqual({ kind: 'not_sent', code: 'connect_timeout' });
    await eventually('the late answer', () => told === 1);
    resolveAfter(0);
    expect(await call()).toMatchObject({ kind: 'answered' });
    expect(requests).toBe(1);
  });
});
