import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** Base URL of the CRM per form, and of the chat that hears of it. */
export interface NaiveSettings {
  port: number;
  routes: Record<string, { destination: string; url: string }>;
  chatUrl: string;
  timeoutMs: number;
  pauseMs: number;
}

interface NaiveLead {
  eventId: string;
  leadRef: string;
  sourceEventId: string;
  body: Record<string, unknown>;
  destination: string;
  delivered: boolean;
  calls: { outcome: string; status?: number; duration_ms: number }[];
}

/**
 * What is written in an afternoon: takes a lead, answers 202, posts it until a 2xx comes back, then tells the chat. Nothing is saved, nothing
 * compared, nothing looked up, nothing given up. It stands beside lead delivery to show what its absence costs.
 */
export class NaiveWriter {
  private readonly leads: NaiveLead[] = [];

  constructor(private readonly settings: NaiveSettings) {}

  /** Listens until the process ends. */
  async start(): Promise<void> {
    const server = createServer((req, res) => void this.answer(req, res));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.settings.port, '127.0.0.1', resolve);
    });
  }

  private async answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://naive');
    if (req.method === 'POST') {
      const lead = this.accept(JSON.parse(await textOf(req)) as Record<string, unknown>);
      send(res, 202, { event_id: lead.eventId, lead_ref: lead.leadRef, status: 'accepted' });
      return;
    }
    const asked = url.pathname.split('/').at(-1);
    const bySource = url.searchParams.get('source_event_id');
    const lead = this.leads.findLast(({ eventId, sourceEventId }) => (bySource === null ? eventId === asked : sourceEventId === bySource));
    if (lead === undefined) send(res, 404, { error: 'not known' });
    else send(res, 200, { ...journey(lead), calls: lead.calls });
  }

  private accept(body: Record<string, unknown>): NaiveLead {
    const eventId = randomUUID();
    const lead: NaiveLead = {
      eventId,
      leadRef: `L-${eventId.replaceAll('-', '').slice(0, 16).toUpperCase()}`,
      sourceEventId: String(body.source_event_id),
      body,
      destination: this.settings.routes[String(body.form)]?.destination ?? 'unrouted',
      delivered: false,
      calls: [],
    };
    this.leads.push(lead);
    void this.deliver(lead);
    return lead;
  }

  private async deliver(lead: NaiveLead): Promise<void> {
    const route = this.settings.routes[String(lead.body.form)];
    if (route === undefined) return;
    await this.untilItSucceeds(lead, `${route.url}/leads`, { ...lead.body, external_id: lead.eventId, lead_ref: lead.leadRef });
    lead.delivered = true;
    await this.untilItSucceeds(undefined, this.settings.chatUrl, {
      chat_id: '-1001',
      text: `Lead delivered: ${lead.leadRef}\n#lead_delivered`,
    });
  }

  private async untilItSucceeds(lead: NaiveLead | undefined, url: string, body: unknown): Promise<void> {
    for (;;) {
      const startedAt = performance.now();
      const status = await post(url, body, this.settings.timeoutMs);
      lead?.calls.push({ outcome: status === undefined ? 'failed' : 'answered', status, duration_ms: performance.now() - startedAt });
      if (status !== undefined && status >= 200 && status < 300) return;
      await new Promise((resolve) => setTimeout(resolve, this.settings.pauseMs));
    }
  }
}

async function post(url: string, body: unknown, timeoutMs: number): Promise<number | undefined> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return undefined;
  }
}

const journey = ({ eventId, leadRef, destination, delivered }: NaiveLead) => ({
  event_id: eventId,
  lead_ref: leadRef,
  status: 'accepted',
  deliveries: [{ destination, state: delivered ? 'delivered' : 'waiting' }],
  refusals: [],
});

async function textOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function send(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(body));
}
