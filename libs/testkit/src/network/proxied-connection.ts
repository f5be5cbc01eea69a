import { connect, type Socket } from 'node:net';
import type { NetworkFault } from './tcp-proxy.js';

export interface ConnectionOptions {
  target: { host?: string; port: number };
  /** The fault in force now. */
  fault(): NetworkFault;
  /** An exchange met the fault. */
  onHit(): void;
  onClosed(): void;
}

/** Answers wait in order: a later one never overtakes because the delay was shortened. */
interface Late {
  at: number;
  bytes: Buffer;
}

/** One client connection and its counterpart at the target, byte for byte, except for what the fault in force does to them. */
export class ProxiedConnection {
  /** Something was swallowed: the stream cannot go on. */
  lostBytes = false;
  private readonly upstream: Socket;
  private direction: 'request' | 'answer' = 'answer';
  private requestBytes = 0;
  private answerBytes = 0;
  /** The exchange has been counted as hit. */
  private counted = false;
  private readonly late: Late[] = [];
  private timer: NodeJS.Timeout | undefined;
  private answerEnded = false;
  private closed = false;

  constructor(
    private readonly client: Socket,
    private readonly options: ConnectionOptions,
  ) {
    const { host = '127.0.0.1', port } = options.target;
    this.upstream = connect({ host, port, allowHalfOpen: true, noDelay: true });
    client.on('data', (bytes: Buffer) => this.request(bytes));
    this.upstream.on('data', (bytes: Buffer) => this.answer(bytes));
    client.on('end', () => this.options.fault().kind !== 'blackhole' && this.upstream.end());
    this.upstream.on('end', () => {
      if (this.options.fault().kind === 'blackhole') return;
      this.answerEnded = true;
      this.send();
    });
    for (const socket of [client, this.upstream]) {
      socket.on('error', () => this.broken());
      socket.on('close', () => this.sideClosed());
    }
  }

  /** Resets both sides. */
  cut(): void {
    clearTimeout(this.timer);
    if (!this.client.destroyed) this.client.resetAndDestroy();
    this.upstream.destroy();
    this.over();
  }

  private request(bytes: Buffer): void {
    if (this.direction === 'answer') {
      this.direction = 'request';
      this.requestBytes = 0;
      this.answerBytes = 0;
      this.counted = false;
    }
    this.requestBytes += bytes.length;
    const fault = this.options.fault();
    if (fault.kind === 'blackhole') this.swallow();
    else if (fault.kind === 'reset' && fault.when === 'before') {
      if (this.requestBytes < fault.bytes) return;
      this.count();
      this.cut();
    } else if (!this.lostBytes) this.upstream.write(bytes);
  }

  private answer(bytes: Buffer): void {
    this.direction = 'answer';
    const fault = this.options.fault();
    if (fault.kind === 'blackhole') this.swallow();
    else if (fault.kind === 'reset' && fault.when === 'after') {
      this.count();
      this.resetAfter(bytes, fault.bytes);
    } else if (!this.lostBytes) {
      const delayMs = fault.kind === 'delay' ? fault.ms : 0;
      if (delayMs > 0) this.count();
      this.late.push({ at: performance.now() + delayMs, bytes });
      this.send();
    }
  }

  private resetAfter(bytes: Buffer, limit: number): void {
    const left = limit - this.answerBytes;
    this.answerBytes += bytes.length;
    if (bytes.length < left) this.client.write(bytes);
    else if (left > 0) this.client.write(bytes.subarray(0, left), () => this.cut());
    else this.cut();
  }

  /** Passes on what is due. */
  private send(): void {
    clearTimeout(this.timer);
    for (let next = this.late[0]; next !== undefined; next = this.late[0]) {
      const waitMs = next.at - performance.now();
      if (waitMs > 0) {
        this.timer = setTimeout(() => this.send(), Math.ceil(waitMs));
        return;
      }
      this.late.shift();
      this.client.write(next.bytes);
    }
    if (this.answerEnded) this.client.end();
  }

  private swallow(): void {
    this.lostBytes = true;
    this.count();
  }

  private count(): void {
    if (this.counted) return;
    this.counted = true;
    this.options.onHit();
  }

  /** A side that breaks takes the other with it; in a black hole neither hears of it. */
  private broken(): void {
    if (this.options.fault().kind !== 'blackhole') this.cut();
  }

  private sideClosed(): void {
    const both = this.client.destroyed && this.upstream.destroyed;
    if (both) this.over();
    else if (this.options.fault().kind !== 'blackhole' && this.late.length === 0 && !this.answerEnded) this.cut();
  }

  private over(): void {
    if (this.closed) return;
    this.closed = true;
    this.options.onClosed();
  }
}
