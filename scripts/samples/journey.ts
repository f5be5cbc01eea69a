import { type Endpoints, pause } from '#testkit';
import type { Sample } from './people.js';
import { hasArrived, type Journey, type Seen, type Step, stepsOf, Timeline } from './steps.js';

const giveUpAfterMs = 30_000;

/** Prints each step of the leads as it happens, until all are in the CRM and the chat; after 30 s says which are still under way. */
export async function followJourneys(endpoints: Endpoints, samples: readonly Sample[], print: (line: string) => void): Promise<void> {
  const timeline = new Timeline();
  const eventIds: EventIds = new Map();
  const tell = (steps: readonly Step[]): void => {
    for (const { at, what } of steps) print(`  ${clock(at)}  ${what}`);
  };
  const giveUpAt = Date.now() + giveUpAfterMs;
  for (;;) {
    const all = await Promise.all(samples.map((sample) => look(endpoints, sample, eventIds)));
    const open = all.filter((seen) => !hasArrived(seen));
    const ends = open.length === 0 || Date.now() >= giveUpAt;
    tell(ends ? timeline.rest(stepsOf(all)) : timeline.due(stepsOf(all), Date.now()));
    if (!ends) await pause(100);
    else {
      for (const { sample } of open)
        print(`  ${sample.name}: still under way after ${giveUpAfterMs / 1_000} s, see ${urlOf(endpoints, sample, eventIds)}`);
      return;
    }
  }
}

/** Event id of each sample that intake has told one for. */
type EventIds = Map<string, string>;

/** By the event id once it is known, as a source is to ask that keeps it. */
function urlOf({ intake }: Endpoints, { sourceEventId }: Sample, eventIds: EventIds): string {
  const eventId = eventIds.get(sourceEventId);
  return eventId === undefined ? `${intake}/v1/leads?source_event_id=${sourceEventId}` : `${intake}/v1/leads/${eventId}`;
}

async function look(endpoints: Endpoints, sample: Sample, eventIds: EventIds): Promise<Seen & { sample: Sample }> {
  const { sandboxCrm, sandboxChat, sourceKey } = endpoints;
  const journey = await read<Journey>(urlOf(endpoints, sample, eventIds), sourceKey);
  if (journey === undefined) return { sample, records: [], messages: [] };
  // A refused record has a journey as well, whose id is that of the refusal.
  if (journey.lead_ref) eventIds.set(sample.sourceEventId, journey.event_id);
  const records = await read<Seen['records']>(`${sandboxCrm}/leads?external_id=${journey.event_id}`);
  const messages = await read<(Seen['messages'][number] & { text: string })[]>(`${sandboxChat}/messages`);
  return { sample, journey, records: records ?? [], messages: (messages ?? []).filter(({ text }) => text.includes(journey.lead_ref)) };
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
