import { topics } from '#contracts';
import type { FieldProblem, Sql, Telemetry, TraceContext } from '#runtime';
import { withdrawConsent } from './consent/withdraw-consent.js';
import { withdrawsConsent } from './consent/withdraws-consent.js';
import type { DatabaseClock } from './database-clock.js';
import { type PreparedLead, type PrepareTools, prepareLead } from './prepare-lead.js';
import { countReceived, type Uncounted } from './received/count-received.js';
import { sameContent } from './same-content.js';
import { bisect } from './store/bisect.js';
import { findKeys, type StoredKey } from './store/find-keys.js';
import { insertLeads } from './store/insert-leads.js';
import type { Submission } from './submission/normalise.js';
import { submittedAtProblem } from './submission/times.js';

/** A submission at the door, with the span it came in. */
export interface Arrival {
  submission: Submission;
  trace: TraceContext;
  /** Default: as long after its submission as its policy says. */
  deadlineAt?: Date;
  /**
   * A repeat that differs in consent alone, which it takes back, withdraws the consent of the lead. For a door at which a source has no other way
   * to say so; default: it is a conflict, like any other content under a used id.
   */
  repeatWithdraws?: boolean;
}

/**
 * What became of an arrival. `replayed`: the same key and content were accepted before, and this is the answer given then; also where a repeat
 * withdrew consent, for the lead stays. `conflict`: the key was used for other content; `consentAlone`: which takes consent back and is else
 * the same.
 */
export type Acceptance =
  | { kind: 'accepted' | 'replayed'; eventId: string; leadRef: string }
  | { kind: 'conflict'; eventId: string; consentAlone?: true }
  | Refused;

interface Refused {
  kind: 'invalid';
  errors: FieldProblem[];
}

export interface AcceptTools extends PrepareTools {
  db: Sql;
  clock: DatabaseClock;
  telemetry: Telemetry;
  /** Called once rows for the relay are committed. */
  relayWake: () => void;
}

/** A key that is neither ours nor there: whoever held it rolled back or purged it between two statements. More than once is no coincidence. */
const maxRounds = 3;

/**
 * The one way in, for both doors. Decides new, same or conflict for each arrival and saves what is new, everything of a lead in one statement.
 * Answers in the order of the arrivals. Throws DatabaseUnavailable, after which any of them may or may not be saved, each wholly; asking again
 * gives the right answer.
 */
export async function acceptLeads(tools: AcceptTools, arrivals: readonly Arrival[]): Promise<Acceptance[]> {
  const now = await tools.clock.now();
  const candidates = arrivals.map((arrival) => prepareCandidate(tools, arrival, now));
  const answers = new Map<Candidate, Acceptance>();
  let open = candidates.filter((candidate) => 'row' in candidate);
  for (let round = 0; open.length > 0; round++) {
    if (round === maxRounds) throw new Error('Keys neither inserted nor found');
    await saveNew(tools, open, answers);
    open = open.filter((candidate) => !answers.has(candidate));
    await answerKnown(tools, open, answers);
    open = open.filter((candidate) => !answers.has(candidate));
  }
  return candidates.map((candidate) => ('row' in candidate ? (answers.get(candidate) as Acceptance) : candidate));
}

interface Candidate extends PreparedLead {
  repeatWithdraws: boolean;
  /** Ends the span that created the event; only a saved event has one. */
  created(): void;
}

/** An arrival ready to be saved, or its answer where the time of submission alone refuses it. */
function prepareCandidate(tools: AcceptTools, arrival: Arrival, now: Date): Candidate | Refused {
  const { submission, trace, deadlineAt, repeatWithdraws = false } = arrival;
  const problem = submission.submittedAt && submittedAtProblem(submission.submittedAt, now);
  if (problem) return { kind: 'invalid', errors: [problem] };
  const span = tools.telemetry.startSpan('create lead.accepted', { kind: 'producer', parent: trace });
  const prepared = prepareLead(tools, submission, { now, trace: span.context, deadlineAt });
  span.set({
    'messaging.system': 'kafka',
    'messaging.operation.name': 'create',
    'messaging.operation.type': 'create',
    'messaging.destination.name': topics.leadAccepted,
    'messaging.message.id': prepared.row.eventId,
    'lead.event_id': prepared.row.eventId,
  });
  return { ...prepared, repeatWithdraws, created: () => span.end() };
}

async function saveNew(tools: AcceptTools, open: Candidate[], answers: Map<Candidate, Acceptance>): Promise<void> {
  let wrote = false;
  await bisect(
    open,
    async (part) => {
      const leads = part.map(({ row }) => row);
      const { repeated, now } = await insertLeads(tools.db, leads);
      if (now) tools.clock.refresh(now);
      for (const candidate of part) {
        const { eventId, leadRef } = candidate.row;
        if (repeated.has(eventId)) continue;
        candidate.created();
        answers.set(candidate, { kind: 'accepted', eventId, leadRef });
        wrote = true;
      }
    },
    (refused, sqlState) => {
      const fix = 'Compare the lead with /openapi.json and report this code.';
      answers.set(refused, { kind: 'invalid', errors: [{ field: 'body', problem: `cannot be stored (${sqlState})`, fix }] });
    },
  );
  if (wrote) tools.relayWake();
}

async function answerKnown(tools: AcceptTools, open: Candidate[], answers: Map<Candidate, Acceptance>): Promise<void> {
  const found = await findKeys(
    tools.db,
    open.map(({ row }) => row),
  );
  const outcomes: Uncounted[] = [];
  for (const stored of found) {
    const candidate = open[stored.index];
    if (!candidate) continue;
    const answer = await compare(tools, candidate, stored);
    answers.set(candidate, answer);
    const { organization, source } = candidate.row;
    outcomes.push({ organization, source, ...(answer.kind === 'conflict' ? { conflicts: 1 } : { repeats: 1 }) });
  }
  await countReceived(tools.db, outcomes);
}

async function compare(tools: AcceptTools, candidate: Candidate, stored: StoredKey): Promise<Acceptance> {
  const { eventId, leadRef } = stored;
  if (await sameContent(tools, candidate, stored)) return { kind: 'replayed', eventId, leadRef };
  if (!withdrawsConsent(tools.hmacs, candidate, stored)) return { kind: 'conflict', eventId };
  if (!candidate.repeatWithdraws) return { kind: 'conflict', eventId, consentAlone: true };
  await withdrawConsent(tools.db, { eventId, at: toldAt(candidate) });
  return { kind: 'replayed', eventId, leadRef };
}

const toldAt = ({ payload }: Candidate): Date | undefined => (payload.consent.at === undefined ? undefined : new Date(payload.consent.at));
