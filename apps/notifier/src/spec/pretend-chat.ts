import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `lose`: the message is posted and the connection torn down before the answer. */
type Answer = 'ok' | 'throttle' | 'lose';

/** A chat that does what the next entry of `script` says, then `ok`. */
export class PretendChat {
  readonly messages: { text: string; traceparent?: string }[] = [];
  readonly calls: string[] = [];
  script: Answer[] = [];
  private server: Server | undefined;
  private port = 0;

  async open(): Promise<string> {
    this.server = createServer((req, res) => {
      let body = '';
      req.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      req.on('end', () => {
        const { text } = JSON.parse(body) as { text: string };
        const answer = this.script.shift() ?? 'ok';
        this.calls.push(text);
        if (answer === 'throttle') {
          res.writeHead(429).end('{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":1}}');
          return;
        }
        this.messages.push({ text, traceparent: req.headers.traceparent?.toString() });
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
