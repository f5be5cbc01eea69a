import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { answersOk } from './answers-ok.js';

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function serve(answer: (statusOnly: (status: number) => void) => void): Promise<string> {
  server = createServer((_request, response) => answer((status) => response.writeHead(status).end('body')));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/health/ready`;
}

it.each([
  [200, true],
  [204, true],
  [302, false],
  [503, false],
])('says of an answer %i: %s', async (status, ok) => {
  expect(await answersOk(await serve((write) => write(status)))).toBe(ok);
});

it('is false where nobody answers in time, or nobody is there', async () => {
  const url = await serve(() => undefined);
  expect(await answersOk(url, 50)).toBe(false);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(await answersOk(url)).toBe(false);
});
