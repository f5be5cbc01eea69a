import { z } from 'zod';
import type { FoundLead, LeadCourse, RevealAnswer } from '#contracts';
import { type InternalServer, InternalUnavailable } from '#runtime';

/** Intake's internal API, as a test tells it; every body that came is kept. */
export class PretendIntake {
  down = false;
  readonly courses = new Map<string, LeadCourse>();
  /** Event ids by what they are found by, `kind value`. */
  readonly byValue = new Map<string, string[]>();
  readonly asked: { path: string; body: Record<string, unknown> }[] = [];
  revealed: RevealAnswer = { status: 410, revision: 0, fields: null };
  /** Called when clear text is asked for, before it is given. */
  onReveal: () => Promise<void> = () => Promise.resolve();

  serve(server: InternalServer): void {
    const route = (path: string, answer: (body: Record<string, unknown>) => unknown): void =>
      server.route(path, { callers: ['operator'], body: z.looseObject({}) }, async (body) => {
        if (this.down) throw new InternalUnavailable('down');
        this.asked.push({ path, body });
        return answer(body);
      });
    route('/internal/v1/leads:find', (body) => ({ items: this.find(body) }));
    route('/internal/v1/leads:course', ({ event_id }) => ({ course: this.courses.get(String(event_id)) ?? null }));
    route('/internal/v1/erasures:find', (body) => ({
      leads: this.find({ ...body, kind: 'event_ids', values: [body.value] }),
      keys: [],
      more: false,
    }));
    route('/internal/v1/vault:mask', () => ({
      status: 200,
      revision: 1,
      masked: { name: 'A…', email: 'a…@example.test', phone: '…23' },
    }));
    route('/internal/v1/vault:reveal', async () => {
      await this.onReveal();
      return this.revealed;
    });
  }

  private find({ kind, value, values, organizations }: Record<string, unknown>): FoundLead[] {
    const ids = kind === 'event_ids' ? (values as string[]) : (this.byValue.get(`${String(kind)} ${String(value)}`) ?? []);
    const allowed = organizations as string[] | undefined;
    return ids
      .map((id) => this.courses.get(id))
      .filter((course) => course !== undefined)
      .filter(({ organization }) => allowed === undefined || allowed.includes(organization))
      .map(({ event_id, lead_ref, organization, source, form, submitted_at, test }) => {
        return { event_id, lead_ref, organization, source, form, submitted_at, test, state: 'dead' as const };
      });
  }
}
