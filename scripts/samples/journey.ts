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
  const seen = new Set<string>();
  const giveUpAt = Date.now() + giveUpAfterMs;
  const tell = (at: string | undefined, step: string): void => {
    if (seen.has(step)) return;
    seen.add(step);
    print(`  ${clock(at)}  ${sample.name} (${sample.door}): ${step}`);
  };
  while (Date.now() < giveUpAt) {
    const journey = await read<Journey>(`${endpoints.intake}/v1/leads?source_event_id=${sample.sourceEventId}`, endpoints.sourceKey);
    if (journey !== undefined && (await tellSteps(endpoints, journey, tell))) return;
    await pause(100);
  }
  print(
    `  ${sample.name}: still under way after ${giveUpAfterMs / 1_000} s; GET ${endpoints.intake}/v1/leads?source_event_id=${sample.sourceEventId}`,
  );
}

type Tell = (at: string | undefined, step: string) => void;

/** Tells what is new; true once the lead is delivered everywhere and its message is in the chat. */
async function tellSteps({ sandboxCrm, sandboxChat }: Endpoints, journey: Journey, tell: Tell): Promise<boolean> {
  tell(journey.accepted_at, `accepted as ${journey.lead_ref}, event ${journey.event_id}`);
  for (const { destination, state, as_of, operations } of journey.deliveries) {
    const done = operations.filter((one) => one.state === 'succeeded').map(({ kind, ref }) => `${kind} ${ref ?? ''}`.trim());
    if (state !== 'accepted' && state !== 'pending')
      tell(as_of, `${destination}: ${state}${done.length > 0 ? ` (${done.join(', ')})` : ''}`);
  }
  const [record] = (await read<{ id: string; received_at?: string }[]>(`${sandboxCrm}/leads?external_id=${journey.event_id}`)) ?? [];
  if (record !== undefined) tell(record.received_at, `seen in the CRM as record ${record.id}`);
  const messages = (await read<{ message_id: number; text: string; received_at: string }[]>(`${sandboxChat}/messages`)) ?? [];
  const message = messages.find(({ text }) => text.includes(journey.lead_ref));
  if (message !== undefined) tell(message.received_at, `seen in the chat as message ${message.message_id}`);
  return journey.deliveries.every(({ state }) => state === 'delivered') && record !== undefined && message !== undefined;
}

async function read<T>(url: string, key?: string): Promise<T | undefined> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(3_000) }).catch(() => undefined);
  if (answer?.ok) return (await answer.json()) as T;
  await answer?.body?.cancel();
  return undefined;
}

/** Local time of day with milliseconds. */
function clock(at = new Date().toISOString()): string {
  const time = new Date(at);
  return `${time.toTimeString().slice(0, 8)}.${String(time.getMilliseconds()).padStart(3, '0')}`;
}
