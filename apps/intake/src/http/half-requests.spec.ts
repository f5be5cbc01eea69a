import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { doorKey, openDoor } from '../../test/open-door.js';

/** The door alone: nothing here gets as far as a part behind it. */
let app: NestFastifyApplication;
let port: number;

beforeAll(async () => {
  app = await openDoor();
  port = Number(new URL(await app.getUrl()).port);
});
afterAll(() => app?.close());

/** Everything that is answered to these bytes until the answer is whole or the connection ends. */
function answerTo(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.endsWith('}')) socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
}

const request = (...lines: string[]): string => lines.join('\r\n');

describe('what never becomes a whole request', () => {
  it.each([
    ['no HTTP', request('GARBAGE quagga', '', ''), 400],
    ['headers too large', request('GET /v1/leads HTTP/1.1', 'Host: x', `X-Quagga: ${'x'.repeat(40_000)}`, '', ''), 431],
    ['headers that do not end', request('GET /v1/leads HTTP/1.1', 'Host: x', 'X-Quagga: quagga'), 408],
    [
      'a body that does not come',
      request(
        'POST /v1/leads HTTP/1.1',
        'Host: x',
        `Authorization: Bearer ${doorKey}`,
        'Content-Type: application/json',
        'Content-Length: 500',
        '',
        '{"quagga"',
      ),
      408,
    ],
  ])('is answered with a problem, without a word of it: %s', async (_, bytes, status) => {
    const text = await answerTo(bytes);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(text).toMatch(/^content-type: application\/problem\+json/im);
    expect(text).toMatch(/^connection: close/im);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toMatchObject({ status, title: expect.any(String) });
    expect(text).not.toMatch(/quagga/i);
  });
});
