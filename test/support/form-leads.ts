import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type InternalClient, internalClient } from '#runtime';
import { runPaths } from '#testkit';
import { eventually } from './eventually.js';
import type { OpenStack } from './stack.js';
import { leadBody } from './traffic.js';

/** Client of a service's internal API with the rights of the operator service. */
export function internalOf({ stack, endpoints }: OpenStack, service: string): InternalClient {
  const tokens = JSON.parse(readFileSync(join(runPaths(stack.runDir).secrets, 'internal-tokens.json'), 'utf8')) as { operator: string };
  return internalClient({ baseUrl: endpoints().internal[service] ?? '', token: tokens.operator, timeoutMs: 10_000 });
}

/** Leads of one form, handed in through HTTP. */
export class FormLeads {
  readonly eventIds: string[] = [];
  private sent = 0;

  constructor(
    private readonly open: OpenStack,
    private readonly form: string,
  ) {}

  /** Hands in one lead again and again until it is answered 202. */
  async post(): Promise<string> {
    const n = this.sent++;
    const body = { ...leadBody(`${this.form}-${n}`, n), form: this.form };
    return eventually(async () => {
      const answer = await this.open.intake.post(body);
      if (answer.status !== 202) throw new Error(`intake answered ${answer.status}`);
      const eventId = String(answer.body.event_id);
      this.eventIds.push(eventId);
      return eventId;
    }, 60_000);
  }

  async postMany(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 20) await Promise.all(Array.from({ length: Math.min(left, 20) }, () => this.post()));
  }

  /** State of each lead's delivery to the form's CRM, and how many leads are in it. */
  async states(destination = `${this.form}-crm`): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (let at = 0; at < this.eventIds.length; at += 20) {
      const answers = await Promise.all(this.eventIds.slice(at, at + 20).map((id) => this.open.intake.get(`/v1/leads/${id}`)));
      for (const { body } of answers) {
        const deliveries = (body.deliveries ?? []) as { destination: string; state: string }[];
        const state = deliveries.find((one) => one.destination === destination)?.state ?? 'unknown';
        counts[state] = (counts[state] ?? 0) + 1;
      }
    }
    return counts;
  }
}
