import { type Endpoints, eventually } from '#testkit';

/** When one lead was where; ISO times, all of this machine's clock. */
export interface Arrival {
  acceptedAt: string;
  inCrmAt: string;
  inChatAt: string;
}

interface Received {
  received_at: string;
}

/** Waits until the lead is in the sandbox CRM and its message in the chat. Throws when one is not there after half a minute, or more than once. */
export async function arrivalOf({ intake, sourceKey, sandboxCrm, sandboxChat }: Endpoints, eventId: string): Promise<Arrival> {
  const { lead_ref, accepted_at } = await read<{ lead_ref: string; accepted_at: string }>(`${intake}/v1/leads/${eventId}`, sourceKey);
  const record = await only('lead in the sandbox CRM', () => read<Received[]>(`${sandboxCrm}/leads?external_id=${eventId}`));
  const message = await only('message in the sandbox chat', async () => {
    const messages = await read<(Received & { text: string })[]>(`${sandboxChat}/messages`);
    return messages.filter(({ text }) => text.includes(lead_ref));
  });
  return { acceptedAt: accepted_at, inCrmAt: record.received_at, inChatAt: message.received_at };
}

async function only(what: string, ask: () => Promise<Received[]>): Promise<Received> {
  const [first, ...more] = await eventually(
    `the ${what}`,
    async () => {
      const found = await ask();
      return found.length > 0 && found;
    },
    { everyMs: 20 },
  );
  if (first === undefined || more.length > 0) throw new Error(`there is more than one ${what}`);
  return first;
}

async function read<T>(url: string, key?: string): Promise<T> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(5_000) });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return (await answer.json()) as T;
}
