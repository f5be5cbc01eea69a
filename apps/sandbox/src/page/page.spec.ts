import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type OpenSandbox, openSandbox } from '../spec/open-sandbox.js';
import { pageScript } from './page.js';

describe('the live page', () => {
  let sandbox: OpenSandbox;
  beforeEach(async () => {
    sandbox = await openSandbox();
  });
  afterEach(() => sandbox.close());

  it('runs no inline script and writes data as text only', async () => {
    const page = await sandbox.call('GET /');
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(page.body).not.toMatch(/<script>|onclick|style=/);
    expect(pageScript).not.toMatch(/innerHTML|insertAdjacentHTML|document\.write|eval\(/);
    expect((await sandbox.call('GET /page.js')).headers.get('content-type')).toContain('text/javascript');
    expect((await sandbox.call('GET /page.css')).status).toBe(200);
  });

  it('shows what is there on connect and again after a change', async () => {
    await sandbox.call('POST /crm/leads', { external_id: 'first', message: '<img src=x>' });
    const abort = new AbortController();
    const response = await fetch(`${sandbox.url}/events`, { signal: abort.signal });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const picture = async () => JSON.parse(((await reader?.read())?.value ?? '').replace(/^data: /, '')) as Record<string, unknown>;
    expect(await picture()).toMatchObject({ crm: { stats: { records: 1 }, leads: [{ external_id: 'first' }] }, chat: { messages: [] } });
    await sandbox.call('POST /chat/bot1:x/sendMessage', { chat_id: '1', text: 'hello' });
    expect(await picture()).toMatchObject({ chat: { messages: [{ text: 'hello' }] } });
    abort.abort();
  });
});
