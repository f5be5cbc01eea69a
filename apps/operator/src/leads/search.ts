import { z } from 'zod';
import type { FoundLead } from '#contracts';
import type { FindRequest } from '#delivery';
import { InternalRefused, InternalUnavailable } from '#runtime';
import type { OwnerApi } from '../owners/owner-api.js';
import { organizationsValue, type Person } from '../people/person.js';
import type { IntakeApi } from './intake-api.js';
import { eventIdOf, type SearchKind, type SearchTry, searchKinds, waysToRead } from './search-kinds.js';

export const searchRequest = z.strictObject({
  text: z.string().trim().min(1).max(512).describe('Any id of a lead, an e-mail address or a phone number.'),
  kind: z.enum(['auto', 'email', 'phone']).default('auto'),
});

export const searchAnswer = z.object({
  items: z.array(
    z.object({
      kind: z.enum(searchKinds).describe('What the text was found as.'),
      event_id: z.string(),
      lead_ref: z.string().nullable(),
      organization: z.string(),
      source: z.string(),
      form: z.string().nullable(),
      submitted_at: z.string().nullable(),
      test: z.boolean(),
      state: z.string(),
    }),
  ),
  unavailable: z.array(z.string()).describe('Services that did not answer: what only they know is not among the items.'),
});
export type SearchAnswer = z.infer<typeof searchAnswer>;

export interface SearchTools {
  intake: IntakeApi;
  owners: ReadonlyMap<string, OwnerApi>;
}

/** Finds the leads that a typed text names, among those that the person may see; each once, as the surest of what it was found as. */
export async function search(tools: SearchTools, request: z.infer<typeof searchRequest>, person: Person): Promise<SearchAnswer> {
  const unavailable = new Set<string>();
  const asked = new Asking(tools, organizationsValue(person) ?? undefined, unavailable);
  const tries = waysToRead(request.text, request.kind);
  const found = await Promise.all(tries.map((way) => asked.find(way)));
  const items = new Map<string, SearchAnswer['items'][number]>();
  for (const [index, leads] of found.entries()) {
    const { kind } = tries[index] as SearchTry;
    for (const lead of leads) if (!items.has(lead.event_id)) items.set(lead.event_id, { kind, ...lead });
  }
  return { items: [...items.values()], unavailable: [...unavailable].sort() };
}

const asFinders: Partial<Record<SearchKind, FindRequest['kind']>> = {
  attempt_id: 'attempt_id',
  trace_id: 'trace_id',
  crm_id: 'destination_ref',
};

class Asking {
  constructor(
    private readonly tools: SearchTools,
    private readonly organizations: readonly string[] | undefined,
    private readonly unavailable: Set<string>,
  ) {}

  async find({ kind, value }: SearchTry): Promise<FoundLead[]> {
    const { intake } = this.tools;
    const [direct, ids] = await Promise.all([this.direct({ kind, value }), this.idsAtOwners(kind, value)]);
    const known = new Set(direct.map(({ event_id }) => event_id));
    const rest = ids.filter((id) => !known.has(id));
    if (rest.length === 0) return direct;
    return [...direct, ...(await this.answer('intake', () => intake.byIds(rest, this.organizations), []))];
  }

  /** What intake finds by itself. */
  private async direct({ kind, value }: SearchTry): Promise<FoundLead[]> {
    const { intake } = this.tools;
    switch (kind) {
      case 'attempt_id':
      case 'crm_id':
        return [];
      case 'event_id':
        return this.answer('intake', () => intake.byIds([value.toLowerCase()], this.organizations), []);
      case 'operation_key': {
        const id = eventIdOf(value);
        return id === undefined ? [] : this.answer('intake', () => intake.byIds([id], this.organizations), []);
      }
      default:
        return this.answer('intake', () => intake.find(kind, value, this.organizations), []);
    }
  }

  private async idsAtOwners(kind: SearchKind, value: string): Promise<string[]> {
    const finder = asFinders[kind];
    if (finder === undefined) return [];
    const answers = [...this.tools.owners].map(([service, owner]) =>
      this.answer(service, () => owner.find({ kind: finder, value }), { items: [] }),
    );
    return [...new Set((await Promise.all(answers)).flatMap(({ items }) => items.map(({ event_id }) => event_id)))];
  }

  private async answer<T>(service: string, ask: () => Promise<T>, without: T): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof InternalUnavailable || error instanceof InternalRefused)) throw error;
      this.unavailable.add(service);
      return without;
    }
  }
}
