import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { parseTraceContext, type Span, type Telemetry } from '#runtime';
import { Chat } from './chat/chat.js';
import { Crm } from './crm/crm.js';
import { signatureKey } from './crm/signature.js';
import { readBody, sendAnswer, splitUrl, type Witness } from './http/call.js';
import { LiveFeed } from './page/live.js';
import { pageCss, pageHeaders, pageHtml, pageScript } from './page/page.js';

export interface SandboxOptions {
  telemetry: Telemetry;
  /** Standard Webhooks secrets; a CRM without one does not look at signatures. */
  crmSecret?: string;
  marketingSecret?: string;
  /** The bot token let in; any when not set. */
  chatToken?: string;
}

/** Longer than any client keeps an idle connection, so that the server is never the one that closes under a request. */
const keepAliveMs = 120_000;
/** A lookup may name 200 keys in its URL. */
const maxHeaderBytes = 65_536;
const rowsOnPage = 30;
const mostWitnesses = 50;

/** Two CRMs (and as many more as are called `/crm-NAME`), a chat and the page that shows them fill up, on one port. */
export class Sandbox {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private readonly witnesses: Map<string, Witness>;
  private readonly feed: LiveFeed;
  private readonly boot = Math.floor(Date.now() / 1000).toString(36);

  constructor(private readonly options: SandboxOptions) {
    const { boot } = this;
    const changed = (): void => this.feed.changed();
    const crm = new Crm({ idPrefix: `c${boot}`, signatureKey: keyOf(options.crmSecret), changed });
    const marketing = new Crm({ idPrefix: `m${boot}`, signatureKey: keyOf(options.marketingSecret), changed });
    const chat = new Chat({ token: options.chatToken, changed });
    this.witnesses = new Map<string, Witness>([
      ['crm', crm],
      ['marketing', marketing],
      ['chat', chat],
    ]);
    this.feed = new LiveFeed(() => ({
      crm: crm.snapshot(rowsOnPage),
      marketing: marketing.snapshot(rowsOnPage),
      chat: chat.snapshot(rowsOnPage),
    }));
    this.server = createServer({ keepAliveTimeout: keepAliveMs, maxHeaderSize: maxHeaderBytes }, (req, res) => this.dispatch(req, res));
    this.server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  /** @returns the base URL; port 0 takes a free one */
  async start(host: string, port: number): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, host, resolve);
    });
    const address = this.server.address() as AddressInfo;
    return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
  }

  /** Hung and slow requests are cut, as a stopping CRM cuts them. */
  async stop(): Promise<void> {
    this.feed.close();
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private dispatch(req: IncomingMessage, res: ServerResponse): void {
    const receivedMs = Date.now();
    const { base, path, query } = splitUrl(req.url ?? '/');
    const witness = this.witnesses.get(base) ?? this.anotherCrm(base);
    if (witness === undefined) {
      this.page(base, req, res);
      return;
    }
    readBody(req, (body) => {
      const span = this.spanOf(req, `/${base}${witness.routeOf(path)}`);
      if (body === undefined) {
        sendAnswer(res, { status: 413, body: { error: 'the body is larger than 1 MiB' } });
        span.end();
        return;
      }
      witness.handle({ call: { method: req.method ?? 'GET', path, query, headers: req.headers, body, receivedMs }, res, span });
    });
  }

  /** Any path that begins with `/crm-NAME` is one more CRM, with records and rules of its own. */
  private anotherCrm(base: string): Witness | undefined {
    if (!/^crm-[a-z0-9-]{1,40}$/.test(base) || this.witnesses.size > mostWitnesses) return undefined;
    const crm = new Crm({ idPrefix: `${base.slice(4)}-${this.boot}`, changed: () => undefined });
    this.witnesses.set(base, crm);
    return crm;
  }

  private spanOf({ method = 'GET', headers }: IncomingMessage, route: string): Span {
    return this.options.telemetry.startSpan(`${method} ${route}`, {
      kind: 'server',
      parent: parseTraceContext({ traceparent: single(headers.traceparent), tracestate: single(headers.tracestate) }),
      attributes: { 'http.request.method': method },
    });
  }

  private page(name: string, req: IncomingMessage, res: ServerResponse): void {
    req.resume();
    if (name === 'events') this.feed.attach(req, res);
    else if (name === '') sendText(res, 'text/html; charset=utf-8', pageHtml);
    else if (name === 'page.css') sendText(res, 'text/css; charset=utf-8', pageCss);
    else if (name === 'page.js') sendText(res, 'text/javascript; charset=utf-8', pageScript);
    else sendAnswer(res, { status: 404, body: { error: 'try /, /crm, /marketing or /chat' } });
  }
}

function sendText(res: ServerResponse, type: string, text: string): void {
  sendAnswer(res, { status: 200, body: text, headers: { ...pageHeaders, 'Content-Type': type } });
}

function keyOf(secret: string | undefined): Buffer | undefined {
  return secret === undefined ? undefined : signatureKey(secret);
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.at(-1) : value;
}
