import { type Endpoints, pause } from '#testkit';
import type { Sample } from './people.js';

/** The parts of intake's answer that are printed. */
interface Journey {
  event_id: string;
  lead_ref: string;
  accepted_at: string;
  deliveries: { destination: string; state: string; as_of: string; operations: { kind: string; state: string; ref?: string }[] }[];
  notifications: { channel: string; template: string; state: string }[];
}

const giveUpAfterMs = 30_000;

/** Prints each step of one lead as it happens, until it is in the CRM and the chat; after 30 s says what is still open. */
export async function followJourney(endpoints: Endpoints, sample: Sample, print: (line: string) => void): Promise<void> {
  const told = new Set<string>();
  const giveUpAt = Date.now() + giveUpAfterMs;
  const url = `${endpoints.intake}/v1/leads?source_event_id=${sample.sourceEventId}`;
  while (Date.now() < giveUpAt) {
    const journey = await read<Journey>(url, endpoints.sourceKey);
    const { steps, arrived } = journey === undefined ? { steps: [], arrived: false } : await look(endpoints, journey);
    for (const { at, what } of steps.filter((step) => !told.has(step.what)).sort((one, other) => one.at.localeCompare(other.at))) {
      told.add(what);
      print(`  ${clock(at)}  ${sample.name} (${sample.door}): ${what}`);
    }
    if (arrived) return;
    await pause(100);
  }
  print(`  ${sample.name}: still under way after ${giveUpAfterMs / 1_000} s, see ${url}`);
}

interface Step {
  /** ISO time. */
  at: string;
  what: string;
}

/** All steps so far; arrived once the lead is delivered everywhere and its message is in the chat. */
async function look({ sandboxCrm, sandboxChat }: Endpoints, journey: Journey): Promise<{ steps: Step[]; arrived: boolean }> {
  const steps: Step[] = [{ at: journey.accepted_at, what: `accepted as ${journey.lead_ref}, event ${journey.event_id}` }];
  for (const { destination, state, as_of, operations } of journey.deliveries) {
    const done = operations.filter((one) => one.state === 'succeeded').map(({ kind, ref }) => `${kind} ${ref ?? ''}`.trim());
    const results = done.length > 0 ? ` (${done.join(', ')})` : '';
    if (state !== 'accepted' && state !== 'pending') steps.push({ at: as_of, what: `${destination}: ${state}${results}` });
  }
  const records = (await read<{ id: string; received_at: string }[]>(`${sandboxCrm}/leads?external_id=${journey.event_id}`)) ?? [];
  for (const { id, received_at } of records) steps.push({ at: received_at, what: `seen in the CRM as record ${id}` });
  const messages = (await read<{ message_id: number; text: string; received_at: string }[]>(`${sandboxChat}/messages`)) ?? [];
  const own = messages.filter(({ text }) => text.includes(journey.lead_ref));
  for (const { message_id, received_at } of own) steps.push({ at: received_at, what: `seen in the chat as message ${message_id}` });
  const delivered = journey.deliveries.every(({ state }) => state === 'delivered');
  return { steps, arrived: delivered && records.length > 0 && own.length > 0 };
}

async function read<T>(url: string, key?: string): Promise<T | undefined> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(3_000) }).catch(() => undefined);
  if (answer?.ok) return (await answer.json()) as T;
  await answer?.body?.cancel();
  return undefined;
}

/** Local time of day with milliseconds. */
function clock(at: string): string {
  const time = new Date(at);
  return `${time.toTimeString().slice(0, 8)}.${String(time.getMilliseconds()).padStart(3, '0')}`;
}
