import pg from 'pg';
import { eventually } from '../support/eventually.js';
import type { OpenStack } from '../support/stack.js';
import type { Tryton } from './start-tryton.js';

export interface PostedLead {
  eventId: string;
  form: string;
  /** Of a person; several leads can have one. */
  email: string;
}

/** What a destination has of the leads of one form, and what the writer says it has. */
export interface FormAccounts {
  delivered: number;
  parties: number;
  opportunities: number;
  /** References that more than one record has. */
  duplicates: number;
  /** Operations whose stored id is not the one of the record in the CRM. */
  wrongRefs: number;
}

export interface LeadAttempt {
  outcome: string;
  late: boolean;
  ref: string | null;
}

/** Leads of several people and forms, handed in over HTTP, and what became of them in Tryton. */
export class TrytonLeads {
  readonly posted: PostedLead[] = [];
  private readonly pool: pg.Pool;
  private sent = 0;

  constructor(
    private readonly open: OpenStack,
    private readonly tryton: Tryton,
  ) {
    this.pool = new pg.Pool({ connectionString: open.endpoints().databaseUrl, max: 2 });
    this.pool.on('error', () => undefined);
  }

  close(): Promise<void> {
    return this.pool.end();
  }

  /** One lead of the n-th person of a form, handed in until it is taken. */
  async post(form: string, n: number, phone = `+1202555${String(1_000 + n).slice(-4)}`): Promise<PostedLead> {
    const email = `${form}-${n}@example.test`;
    const body = {
      source_event_id: `${form}-${this.sent++}`,
      form,
      contact: { name: `Person ${n} of ${form}`, email, phone },
      message: 'Please call',
      consent: { given: true },
    };
    return eventually(async () => {
      const answer = await this.open.intake.post(body);
      if (answer.status !== 202) throw new Error(`intake answered ${answer.status}: ${JSON.stringify(answer.body)}`);
      const lead = { eventId: String(answer.body.event_id), form, email };
      this.posted.push(lead);
      return lead;
    }, 60_000);
  }

  async postMany(form: string, count: number, phone?: string): Promise<void> {
    for (let from = 0; from < count; from += 10) {
      const part = Array.from({ length: Math.min(10, count - from) }, (_, at) => this.post(form, from + at, phone));
      await Promise.all(part);
    }
  }

  /** Waits until every lead of these forms is delivered. */
  async delivered(forms: readonly string[], timeoutMs: number): Promise<void> {
    const wanted = this.of(forms);
    await eventually(async () => {
      const states = await this.states(wanted);
      const open = Object.entries(states).filter(([state]) => state !== 'delivered');
      if (open.length > 0) throw new Error(`of ${forms.join()}: ${JSON.stringify(states)}`);
    }, timeoutMs);
  }

  async account(form: string): Promise<FormAccounts> {
    const leads = this.of([form]);
    const eventIds = leads.map(({ eventId }) => eventId);
    const opportunities = await this.tryton.sql<{ id: number; reference: string; party: number }>(
      'select id, reference, party from sale_opportunity where reference = any($1)',
      [eventIds],
    );
    const parties = await this.tryton.sql<{ party: number }>(
      "select distinct party from party_contact_mechanism where type = 'email' and value = any($1)",
      [leads.map(({ email }) => email)],
    );
    const { rows } = await this.pool.query<{ event_id: string; kind: string; destination_ref: string | null }>(
      'select event_id::text, kind, destination_ref from crm_writer.operation where event_id = any($1::uuid[])',
      [eventIds],
    );
    const byReference = new Map(opportunities.map((one) => [one.reference, one]));
    const right = rows.filter(({ event_id: eventId, kind, destination_ref: ref }) => {
      const record = byReference.get(eventId);
      return ref !== null && ref === String(kind === 'contact' ? record?.party : record?.id);
    });
    return {
      delivered: (await this.states(leads)).delivered ?? 0,
      parties: parties.length,
      opportunities: opportunities.length,
      duplicates: opportunities.length - byReference.size,
      wrongRefs: 2 * leads.length - right.length,
    };
  }

  /** Attempts at the lead's own record, in the order of their outcomes' names. `late`: another claim had taken the delivery over. */
  async leadAttempts({ eventId }: PostedLead): Promise<LeadAttempt[]> {
    const { rows } = await this.pool.query<LeadAttempt>(
      `select a.outcome, a.late, a.destination_ref as ref from crm_writer.attempt a join crm_writer.operation o using (operation_key)
       where o.event_id = $1 and o.kind = 'lead' order by a.outcome`,
      [eventId],
    );
    return rows;
  }

  /** The lease of a delivery in flight runs out now, as when its process has not renewed it. */
  async endLease({ eventId }: PostedLead): Promise<void> {
    await this.earlier('lease_until', "state = 'in_flight'", eventId);
  }

  /** An uncertain delivery is looked up now, and not only when its call must have ended. */
  async endWait({ eventId }: PostedLead): Promise<void> {
    await this.earlier('next_attempt_at', "state = 'uncertain'", eventId);
  }

  private async earlier(column: string, where: string, eventId: string): Promise<void> {
    const text = `update crm_writer.delivery set ${column} = ${column} - interval '1 hour' where event_id = $1 and ${where}`;
    const { rowCount } = await this.pool.query(text, [eventId]);
    if (rowCount !== 1) throw new Error(`no delivery has ${where}`);
  }

  private of(forms: readonly string[]): PostedLead[] {
    return this.posted.filter(({ form }) => forms.includes(form));
  }

  private async states(leads: readonly PostedLead[]): Promise<Record<string, number>> {
    const { rows } = await this.pool.query<{ state: string; count: number }>(
      'select state, count(*)::int as count from crm_writer.delivery where event_id = any($1::uuid[]) group by state',
      [leads.map(({ eventId }) => eventId)],
    );
    const counted = rows.reduce((sum, { count }) => sum + count, 0);
    const known = Object.fromEntries(rows.map(({ state, count }) => [state, count]));
    return counted < leads.length ? { ...known, unknown: leads.length - counted } : known;
  }
}
