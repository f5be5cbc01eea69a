import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type OpenSandbox, openSandbox } from '../spec/open-sandbox.js';

const token = '1:demo-token';
const text = 'Lead L-ABCDEFGHIJKLMNOP delivered\n#lead_delivered';

describe('the sandbox chat', () => {
  let sandbox: OpenSandbox;
  const send = (body: unknown, headers?: Record<string, string>, by = token) =>
    sandbox.call(`POST /chat/bot${by}/sendMessage`, body, headers);
  const stats = async () => (await sandbox.call('GET /chat/stats')).body;

  beforeEach(async () => {
    sandbox = await openSandbox({ chatToken: token });
  });
  afterEach(() => sandbox.close());

  it('makes two messages of two equal calls and counts the second as a duplicate', async () => {
    const traceparent = `00-${'5'.repeat(32)}-${'6'.repeat(16)}-01`;
    const first = await send({ chat_id: '-1001', text }, { traceparent });
    expect(first).toMatchObject({ status: 200, body: { ok: true, result: { message_id: 1, text, chat: { id: -1001 } } } });
    expect((await send({ chat_id: -1001, text: `${text} again` })).body).toMatchObject({ result: { message_id: 2 } });
    expect(await stats()).toMatchObject({ messages: 2, duplicates: 1, requests: 2 });
    expect((await sandbox.call('GET /chat/messages')).body).toEqual([
      expect.objectContaining({ chat_id: '-1001', lead_ref: 'L-ABCDEFGHIJKLMNOP', template: 'lead_delivered', traceparent }),
      expect.objectContaining({ message_id: 2 }),
    ]);
  });

  it('does not count another template, lead or chat as a duplicate', async () => {
    await send({ chat_id: '-1001', text });
    await send({ chat_id: '-1001', text: text.replace('lead_delivered', 'lead_dead') });
    await send({ chat_id: '-1001', text: text.replace('ABCD', 'QQQQ') });
    await send({ chat_id: '-1002', text });
    expect(await stats()).toMatchObject({ messages: 4, duplicates: 0 });
  });

  it('tells messages that name no lead by their words', async () => {
    for (const count of [2, 3, 3]) await send({ chat_id: '-1001', text: `${count} new dead letters for Ada\n#dead_letters` });
    expect(await stats()).toMatchObject({ messages: 3, duplicates: 1 });
  });

  it('takes a form as the Bot API does', async () => {
    const form = new URLSearchParams({ chat_id: '-1001', text }).toString();
    expect((await send(form, { 'content-type': 'application/x-www-form-urlencoded' })).body).toMatchObject({ ok: true });
  });

  it('refuses as Telegram words it', async () => {
    const refusals = [
      [await send({ chat_id: '-1001', text }, {}, '2:other'), 401, 'Unauthorized'],
      [await send({ text }), 400, 'Bad Request: chat_id is empty'],
      [await send({ chat_id: '-1001', text: ' ' }), 400, 'Bad Request: message text is empty'],
      [await send({ chat_id: '-1001', text: 'x'.repeat(4097) }), 400, 'Bad Request: message is too long'],
      [await sandbox.call(`POST /chat/bot${token}/unknown`, {}), 404, 'Not Found'],
    ] as const;
    for (const [answer, status, description] of refusals) {
      expect(answer).toMatchObject({ status, body: { ok: false, error_code: status, description } });
    }
    expect(await stats()).toMatchObject({ messages: 0 });
  });

  it('throttles by rule with retry_after in the body and the header', async () => {
    await sandbox.call('POST /chat/control', { times: 1, status: 429, headers: { 'Retry-After': '3' } });
    const throttled = await send({ chat_id: '-1001', text });
    expect(throttled.headers.get('retry-after')).toBe('3');
    expect(throttled.body).toEqual({
      ok: false,
      error_code: 429,
      description: 'Too Many Requests: retry after 3',
      parameters: { retry_after: 3 },
    });
    expect(await stats()).toMatchObject({ messages: 0, requests: 1 });
  });

  it('can post a message and tear the connection down', async () => {
    await sandbox.call('POST /chat/control', { external_id: 'L-ABCDEFGHIJKLMNOP', reset: 'after' });
    await expect(send({ chat_id: '-1001', text })).rejects.toThrow();
    expect(await stats()).toMatchObject({ messages: 1 });
  });

  it('keeps the token out of span names', async () => {
    await send({ chat_id: '-1001', text });
    expect(JSON.stringify(sandbox.spans)).not.toContain('demo-token');
    expect(sandbox.spans[0]?.name).toBe('POST /chat/bot{token}/sendMessage');
  });
});
