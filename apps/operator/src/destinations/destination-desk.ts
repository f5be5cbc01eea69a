import type { DestinationFiguresAnswer, DestinationsAnswer } from '#delivery';
import type { Database, InternalClient, Site } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { sendCommand } from '../commands.js';
import { refusals } from '../http/refusal.js';
import type { OwnerApi } from '../owners/owner-api.js';
import type { Person } from '../people/person.js';
import type { DestinationItem, DestinationList } from './destination-item.js';
import { DrainWatch } from './drain-watch.js';
import { maySee, organizationsOf, othersThere } from './may-see.js';
import { leftOf, toItem, whyNoTest } from './to-item.js';

export interface DestinationTools {
  db: Database;
  site: Site;
  owners: ReadonlyMap<string, OwnerApi>;
  clients: ReadonlyMap<string, Pick<InternalClient, 'post'>>;
}

/** What is done about one destination. */
export interface DestinationCommand {
  destination: string;
  /** Absent: the one whose site file part names it. */
  service?: Service;
  command: 'hold' | 'release';
  reason: string;
  /** When the hold began that the person has seen; null: none was. Absent: they have not looked. */
  since?: string | null;
}

export const services = ['crm-writer', 'notifier'] as const;
export type Service = (typeof services)[number];

/** What one owner says of its destinations. */
interface Said {
  service: Service;
  states: DestinationsAnswer['items'];
  figures: DestinationFiguresAnswer;
}

/** Destinations of all services: how they stand, holding them, and a test of one. */
export class DestinationDesk {
  readonly #drains = new DrainWatch();

  constructor(private readonly tools: DestinationTools) {}

  /** What the person may see, by service and name. A service that does not answer is named, and its destinations stand as unknown. */
  async list(person: Person): Promise<DestinationList> {
    const { site } = this.tools;
    const said = await Promise.all(services.map((service) => this.ask(service)));
    const items = services.flatMap((service, index) => this.itemsOf(service, said[index]));
    return {
      items: items.filter(({ destination, configured }) => (configured ? maySee(site, destination, person) : person.organizations === '*')),
      unavailable: services.filter((_, index) => said[index] === undefined),
    };
  }

  /** Notes how long the queues are, so that the drain of a backlog is known whoever looks. */
  async watch(): Promise<void> {
    await Promise.all(services.map((service) => this.ask(service)));
  }

  /** Rejects with the refusals 404, 403 and 409, or InternalUnavailable. */
  async command({ destination, service, command, reason, since }: DestinationCommand, person: Person): Promise<{ applied: true }> {
    const { site } = this.tools;
    const owner = service ?? ownerOf(site, destination);
    if (owner === undefined || !maySee(site, destination, person)) throw refusals.notFound();
    const others = othersThere(site, destination, person);
    if (others.length > 0)
      throw refusals.forbidden('Leads of organizations that you may not see go there too: somebody who sees all of them decides');
    const { caller, person: by } = actor(person);
    const [organization, ...more] = organizationsOf(site, destination);
    const from = { caller, organization: more.length === 0 ? organization : null };
    const answer = await sendCommand(this.tools, { service: owner, command: { command, destination, by, reason, since } }, from);
    if (answer.reason === 'unknown_destination') throw refusals.notFound();
    if (!answer.applied) throw refusals.conflict('changed-meanwhile', 'Somebody has held or released it since you looked: look again');
    return { applied: true };
  }

  /** Sends a lead of nobody to a sandbox. Rejects with the refusals 404 and 409, or InternalUnavailable. */
  async test(destination: string, person: Person): Promise<{ event_id: string; organization: string }> {
    const { site, db, clients } = this.tools;
    if (!maySee(site, destination, person)) throw refusals.notFound();
    const config = Object.hasOwn(site.destinations, destination) ? site.destinations[destination] : undefined;
    const channel = Object.hasOwn(site.channels, destination);
    if (config === undefined && !channel) throw refusals.notFound();
    if (config?.sandbox !== true) throw refusals.conflict('no-test', whyNoTest(config === undefined ? 'channel' : 'not_sandbox'));
    const organization = testOrganization(site, destination, person);
    const intake = clients.get('intake');
    if (organization === undefined || intake === undefined) throw refusals.unavailable();
    const entry = { ...actor(person), organization, action: 'destination.test' };
    await audit(db, { ...entry, subject: { destination } });
    const answer = await intake.post<{ event_id?: string; refused?: string }>('/internal/v1/leads:test', { destination, organization });
    await audit(db, { ...entry, action: `${entry.action}.answer`, subject: { destination, ...answer } });
    if (answer.event_id !== undefined) return { event_id: answer.event_id, organization };
    throw refusals.conflict('no-test', answer.refused === 'not_sandbox' ? whyNoTest('not_sandbox') : 'Intake runs with another site file');
  }

  private async ask(service: Service): Promise<Said | undefined> {
    const { owners, clients } = this.tools;
    const client = clients.get(service);
    if (client === undefined) return undefined;
    try {
      const [{ items: states = [] } = { items: [] }, figures] = await Promise.all([
        owners.get(service)?.destinations(),
        client.post<DestinationFiguresAnswer>('/internal/v1/destinations:figures', {}),
      ]);
      this.note(service, { states, figures });
      return { service, states, figures };
    } catch {
      // Said by its name in the answer; the readiness of that service and its alerts tell the rest.
      return undefined;
    }
  }

  private note(service: Service, { states, figures }: Pick<Said, 'states' | 'figures'>): void {
    const atMs = Date.parse(figures.as_of);
    for (const item of figures.items) {
      const { destination } = item;
      const left = leftOf(item);
      const mode = states.find((state) => state.destination === destination)?.mode;
      const blocked = mode === 'blocked' || mode === 'probing';
      // How fast it went before what is missing now says nothing about what comes after.
      if (left === undefined) this.#drains.lose(`${service}/${destination}`);
      else this.#drains.see(`${service}/${destination}`, { atMs, left, blocked });
    }
  }

  private itemsOf(service: Service, said: Said | undefined): DestinationItem[] {
    const { destinations, channels } = this.tools.site;
    const named: readonly string[] = Object.keys(service === 'crm-writer' ? destinations : channels);
    const busy = (name: string): boolean => {
      const figures = said?.figures.items.find((one) => one.destination === name);
      return figures !== undefined && ((leftOf(figures) ?? 0) > 0 || figures.waiting + figures.held + figures.uncertain > 0);
    };
    const gone = (said?.states ?? []).filter(
      ({ destination, hold }) => !named.includes(destination) && (hold !== undefined || busy(destination)),
    );
    return [...named, ...gone.map(({ destination }) => destination)].map((destination) =>
      toItem({
        service,
        destination,
        config: service === 'crm-writer' ? destinations[destination] : undefined,
        channel: service === 'notifier' ? channels[destination] : undefined,
        state: said?.states.find((one) => one.destination === destination),
        answers: said !== undefined,
        figures: said?.figures.items.find((one) => one.destination === destination),
        figuresAt: said?.figures.as_of,
        drain: this.#drains.of(`${service}/${destination}`),
      }),
    );
  }
}

function ownerOf({ destinations, channels }: Site, name: string): Service | undefined {
  if (Object.hasOwn(destinations, name)) return 'crm-writer';
  return Object.hasOwn(channels, name) ? 'notifier' : undefined;
}

/** One whose leads go there and that the person sees, so that the person can follow the test; else any that has a source. */
function testOrganization(site: Site, destination: string, { organizations }: Person): string | undefined {
  const all = [...organizationsOf(site, destination), ...site.sources.map(({ organization }) => organization)];
  const withSource = all.filter((organization) => site.sources.some((source) => source.organization === organization));
  return withSource.find((organization) => organizations === '*' || organizations.includes(organization));
}
