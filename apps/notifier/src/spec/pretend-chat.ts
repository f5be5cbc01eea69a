import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `lose`: the message is posted and the connection torn down before the answer. `block`: the recipient has blocked the bot. */
type Answer = 'ok' | 'throttle' | 'lose' | 'block';

/** A chat that does what the next entry of `script` says, then `ok`; in the chat `refusing`, if any, it asks every caller to wait. */
export class PretendChat {
  readonly messages: { text: string; chatId: string; traceparent?: string }[] = [];
  readonly calls: string[] = [];
  script: Answer[] = [];
  refusing: string | undefined;
  private server: Server | undefined;
  private port = 0;

  async open(): Promise<string> {
    this.server = createServer((req, res) => {
      let body = '';
      req.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      req.on('end', () => {
        const { text, chat_id: chatId } = JSON.parse(body) as { text: string; chat_id: string };
        const answer = chatId === this.refusing ? 'throttle' : (this.script.shift() ?? 'ok');
        this.calls.push(text);
        if (answer === 'throttle') {
          res.writeHead(429).end('{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":1}}');
          return;
        }
        if (answer === 'block') {
          res.writeHead(403).end('{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}');
          return;
        }
        this.messages.push({ text, chatId, traceparent: req.headers.traceparent?.toString() });
        if (answer === 'lose') req.socket.resetAndDestroy();
        else res.end(JSON.stringify({ ok: true, result: { message_id: this.messages.length } }));
      });
    });
    await new Promise<void>((resolve) => this.server?.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.server.address() as AddressInfo).port;
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    const { server } = this;
    server?.closeAllConnections();
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  }

  told(leadRef: string): number {
    return this.messages.filter(({ text }) => text.includes(leadRef)).length;
  }

  asked(leadRef: string): number {
    return this.calls.filter((text) => text.includes(leadRef)).length;
  }
}
