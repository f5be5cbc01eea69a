import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { ProxiedConnection } from './proxied-connection.js';

/** What the network does to an exchange: one request of the client and what the target says to it. */
export type NetworkFault =
  | { kind: 'none' }
  /** Nobody listens. */
  | { kind: 'refuse' }
  /** The answer comes so much later; the request arrives at once. */
  | { kind: 'delay'; ms: number }
  /** `before`: torn down after so many bytes of the request, none of which the target sees. `after`: after so many bytes of the answer. */
  | { kind: 'reset'; when: 'before' | 'after'; bytes: number }
  /** Both sides stay connected and hear nothing from each other any more. */
  | { kind: 'blackhole' };

export interface ResetOptions {
  /** Bytes that still pass. Default 0. */
  bytes?: number;
  /** Exchanges that are hit; the network is whole again after them. Default: all until `heal`. */
  times?: number;
}

/** A network between a client and a TCP server whose faults are set from outside, for connections that are open already as well. */
export interface TcpProxy {
  readonly host: string;
  readonly port: number;
  /** Exchanges (for `refuse`: open connections) that met a fault since the proxy was opened. A refused connect never reaches the proxy: count it at the client. */
  readonly hits: number;
  /** Connections that are open now. */
  readonly open: number;
  /** Closes the port and cuts every connection. Resolves when connects are refused. */
  refuse(): Promise<void>;
  delay(ms: number): void;
  reset(when: 'before' | 'after', options?: ResetOptions): void;
  blackhole(): void;
  /** Whole again. Connections that lost bytes are cut: nothing sensible can follow on them. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

export interface TcpProxyOptions {
  target: { host?: string; port: number };
  /** Default: a free one. */
  port?: number;
}

/** Opens a proxy on 127.0.0.1 that passes everything on until a fault is set. */
export async function openTcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  const proxy = new FaultyNetwork(options);
  await proxy.listen();
  return proxy;
}

class FaultyNetwork implements TcpProxy {
  readonly host = '127.0.0.1';
  port: number;
  hits = 0;
  private fault: NetworkFault = { kind: 'none' };
  private hitsLeft = Number.POSITIVE_INFINITY;
  private server: Server | undefined;
  private readonly connections = new Set<ProxiedConnection>();

  constructor(private readonly options: TcpProxyOptions) {
    this.port = options.port ?? 0;
  }

  get open(): number {
    return this.connections.size;
  }

  async listen(): Promise<void> {
    if (this.server !== undefined) return;
    // A client that half-closes still waits for its answer.
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.accept(client));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, this.host, resolve);
    });
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  async refuse(): Promise<void> {
    this.set({ kind: 'refuse' });
    this.hits += this.connections.size;
    await this.stopListening();
  }

  delay(ms: number): void {
    this.set({ kind: 'delay', ms });
  }

  reset(when: 'before' | 'after', { bytes = 0, times }: ResetOptions = {}): void {
    this.set({ kind: 'reset', when, bytes }, times);
  }

  blackhole(): void {
    this.set({ kind: 'blackhole' });
  }

  async heal(): Promise<void> {
    this.set({ kind: 'none' });
    for (const connection of [...this.connections]) if (connection.lostBytes) connection.cut();
    await this.listen();
  }

  async close(): Promise<void> {
    await this.stopListening();
  }

  private set(fault: NetworkFault, times = Number.POSITIVE_INFINITY): void {
    this.fault = fault;
    this.hitsLeft = times;
  }

  private accept(client: Socket): void {
    const connection = new ProxiedConnection(client, {
      target: this.options.target,
      fault: () => this.fault,
      onHit: () => this.hit(),
      onClosed: () => this.connections.delete(connection),
    });
    this.connections.add(connection);
  }

  private hit(): void {
    this.hits += 1;
    this.hitsLeft -= 1;
    if (this.hitsLeft <= 0) this.set({ kind: 'none' });
  }

  private async stopListening(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    const closed = new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
    for (const connection of [...this.connections]) connection.cut();
    await closed;
  }
}
