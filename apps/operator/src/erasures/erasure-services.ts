import type { DestinationReference, IntakeEraseAnswer, OwnerEraseAnswer, SubjectAnswer, SubjectKey, SubjectLead } from '#contracts';
import { type InternalClient, InternalUnavailable } from '#runtime';

/** Who is to be erased: one lead, an address as somebody typed it, or the keys that an address came to before. */
export type SubjectQuery = { kind: 'event_id' | 'email' | 'phone'; value: string } | { kind: 'keys'; keys: readonly SubjectKey[] };

export type ErasedLead = Pick<SubjectLead, 'event_id' | 'person_key' | 'whole_person'>;

/** How much each place holds, by its name. */
export type Counts = ReadonlyMap<string, number>;

export interface Remains {
  counts: Counts;
  references: (DestinationReference & { service: string })[];
  /** Leads that refused records became meanwhile, and that nothing was erased of. */
  became: SubjectLead[];
}

type Client = Pick<InternalClient, 'post'>;

/** Leads of one request: each is a transaction there, and the request has seconds. */
const page = 50;

/** The services that keep something of a person. Every method rejects with InternalUnavailable or InternalRefused. */
export class ErasureServices {
  private readonly intake: Client;
  private readonly owning: readonly (readonly [service: string, client: Client])[];

  /** @param owning names of the services that own deliveries */
  constructor(clients: ReadonlyMap<string, Client>, owning: Iterable<string>) {
    this.intake = clients.get('intake') ?? away('intake');
    this.owning = [...owning].map((name) => [name, clients.get(name) ?? away(name)] as const);
  }

  /** Organizations absent: all. The address travels in the body alone. */
  find(query: SubjectQuery, organizations: readonly string[] | null): Promise<SubjectAnswer> {
    return this.intake.post('/internal/v1/erasures:find', { ...query, ...(organizations && { organizations }) });
  }

  /** Counts what every place holds, and names what destinations hold. */
  count(leads: readonly ErasedLead[]): Promise<Remains> {
    return this.everywhere(leads, true);
  }

  /** Has every service erase, intake first: from then on nobody reads the person's data. Says what is left. */
  erase(leads: readonly ErasedLead[]): Promise<Remains> {
    return this.everywhere(leads, false);
  }

  private async everywhere(leads: readonly ErasedLead[], dry_run: boolean): Promise<Remains> {
    const counts = new Map<string, number>();
    const references: Remains['references'] = [];
    const became: SubjectLead[] = [];
    const add = (service: string, places: object): void => {
      for (const [place, count] of Object.entries(places)) {
        const name = `${service} ${place}`;
        counts.set(name, (counts.get(name) ?? 0) + Number(count));
      }
    };
    for (const part of pagesOf(leads)) {
      const event_ids = part.map(({ event_id }) => event_id);
      const answer = await this.intake.post<IntakeEraseAnswer>('/internal/v1/leads:erase', { event_ids, dry_run });
      add('intake', answer.places);
      became.push(...(answer.leads ?? []));
    }
    for (const [service, client] of this.owning) {
      for (const part of pagesOf(leads)) {
        const items = part.map(({ event_id, person_key, whole_person }) => ({ event_id, person_key, whole_person }));
        const answer = await client.post<OwnerEraseAnswer>('/internal/v1/leads:erase', { items, dry_run });
        add(service, answer.places);
        references.push(...answer.references.map((one) => ({ ...one, service })));
      }
    }
    const listed = new Set(leads.map(({ event_id }) => event_id));
    return { counts, references, became: became.filter(({ event_id }) => !listed.has(event_id)) };
  }
}

/** One page at least: a service that keeps nothing says so. */
function pagesOf<T>(rows: readonly T[]): T[][] {
  const pages: T[][] = [];
  for (let at = 0; at < rows.length; at += page) pages.push(rows.slice(at, at + page));
  return pages;
}

const away = (name: string): Client => ({ post: () => Promise.reject(new InternalUnavailable(`INTERNAL_URLS does not name ${name}`)) });
