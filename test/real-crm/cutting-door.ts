import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What becomes of calls of one method that come through one entrance. */
export interface Cut {
  /** End of the method's name: `party.create`. */
  method: string;
  /** `once each`: every request that asks for something else, once; its repeats come through. */
  times: number | 'once each';
  /**
   * `cut`: the connection is torn down when the server has answered, and so has committed. `hold`: the answer waits until `release`. `lose`:
   * the server never hears of the call, which is said to be done. `refuse`: the server never hears of it, and nobody says that it is done.
   */
  fault: 'cut' | 'hold' | 'lose' | 'refuse';
}

/** Stands between the writer and a server. Each entrance `/NAME/…` leads to the same server and has cuts of its own. */
export interface CuttingDoor {
  readonly url: string;
  /** Counted from now on. */
  cut(entrance: string, cut: Cut): void;
  /** How often an entrance's calls of a method met a fault. */
  hits(entrance: string, method: string): number;
  /** What an entrance's calls of a method that met a fault asked for, each once: a code, a reference, else ids or a search. */
  subjects(entrance: string, method: string): string[];
  release(): void;
  close(): Promise<void>;
}

export async function openCuttingDoor(target: string): Promise<CuttingDoor> {
  const door = new Door(target);
  await door.listen();
  return door;
}

const json = { 'content-type': 'application/json' };

class Door implements CuttingDoor {
  url = '';
  private readonly cuts = new Map<string, Cut[]>();
  /** What was asked for, in the order of the calls that met a fault. */
  private readonly met = new Map<string, string[]>();
  private readonly held: (() => void)[] = [];
  private readonly server = createServer((incoming, outgoing) => void this.pass(incoming, outgoing).catch(() => outgoing.destroy()));

  constructor(private readonly target: string) {}

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  cut(entrance: string, cut: Cut): void {
    this.cuts.set(entrance, [...(this.cuts.get(entrance) ?? []), { ...cut }]);
  }

  hits(entrance: string, method: string): number {
    return this.metBy(entrance, method).length;
  }

  subjects(entrance: string, method: string): string[] {
    return [...new Set(this.metBy(entrance, method))];
  }

  release(): void {
    for (const go of this.held.splice(0)) go();
  }

  async close(): Promise<void> {
    this.release();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await textOf(incoming);
    const [, entrance = '', path = ''] = /^\/([^/]+)(\/.*)$/.exec(incoming.url ?? '') ?? [];
    const fault = this.faultOf(entrance, JSON.parse(body) as Asked);
    if (fault === 'lose') return void outgoing.writeHead(200, json).end('{"id":1,"result":null}');
    if (fault === 'refuse') return void outgoing.writeHead(503).end();
    const answer = await this.forward(path, { body, headers: incoming.headers });
    if (fault === 'cut') return void outgoing.destroy();
    if (fault === 'hold') await new Promise<void>((resolve) => this.held.push(resolve));
    outgoing.writeHead(answer.status, { 'content-type': answer.type }).end(answer.text);
  }

  private faultOf(entrance: string, { method = '', params }: Asked): Cut['fault'] | undefined {
    const subject = subjectOf(params);
    const isNew = (cut: Cut): boolean => !this.metBy(entrance, cut.method).includes(subject);
    const cut = this.cuts
      .get(entrance)
      ?.find((one) => method.endsWith(one.method) && (one.times === 'once each' ? isNew(one) : one.times > 0));
    if (cut === undefined) return undefined;
    if (cut.times !== 'once each') cut.times -= 1;
    this.met.set(`${entrance} ${cut.method}`, [...this.metBy(entrance, cut.method), subject]);
    return cut.fault;
  }

  private metBy(entrance: string, method: string): readonly string[] {
    return this.met.get(`${entrance} ${method}`) ?? [];
  }

  private forward(
    path: string,
    { body, headers }: { body: string; headers: IncomingMessage['headers'] },
  ): Promise<{ status: number; type: string; text: string }> {
    const { authorization } = headers;
    const sent = { ...json, ...(authorization !== undefined && { authorization }) };
    return new Promise((resolve, reject) => {
      const call = request(
        this.target + path,
        { method: 'POST', headers: { ...sent, 'content-length': Buffer.byteLength(body) } },
        (answer) => {
          textOf(answer).then(
            (text) => resolve({ status: answer.statusCode ?? 0, type: answer.headers['content-type'] ?? 'text/plain', text }),
            reject,
          );
        },
      );
      call.once('error', reject);
      call.end(body);
    });
  }
}

interface Asked {
  method?: string;
  params?: readonly unknown[];
}

/** What is the same when a request is repeated: of a new record its own key, of anything else the ids or the search that it begins with. */
function subjectOf([first]: readonly unknown[] = []): string {
  const [record] = Array.isArray(first) ? (first as unknown[]) : [];
  const { code, reference } = (record ?? {}) as Record<string, unknown>;
  return String(code ?? reference ?? JSON.stringify(first));
}

async function textOf(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
