import { clientOf, type Installation } from '../installation.js';
import type { Line } from '../output.js';

const caller = 'leadctl';
/** An approval asks the owners of up to 50 deliveries. */
const timeoutMs = 15_000;

/** POSTs to the operator service of an installation. Throws ConfigError, InternalUnavailable, InternalRefused. */
export async function askOperator<T>(installation: Installation, command: string, body: object): Promise<T> {
  const operator = clientOf(installation, 'operator', { caller, timeoutMs });
  try {
    return await operator.post<T>(`/internal/v1/${command}`, body);
  } finally {
    await operator.close();
  }
}

export interface DeadLetter {
  dead_letter_id: string;
  event_id: string | null;
  destination: string | null;
  lead_ref: string | null;
  class: string;
  code: string | null;
  attempts: number;
  submitted_at: string | null;
  respond_by: string;
  owner: string;
  disposition: string;
  reference: string | null;
  state: string;
  closed_as: string | null;
  next_action?: string;
  runbook?: string;
}

/** One line per dead letter; what to do is on the page that `runbook` names. */
export function deadLetterLines(items: readonly DeadLetter[]): Line[] {
  return items.map((item) => ({
    id: item.dead_letter_id,
    event_id: item.event_id ?? '',
    destination: item.destination ?? '',
    lead: item.lead_ref ?? item.reference ?? '',
    class: item.class,
    code: item.code ?? '',
    attempts: item.attempts,
    submitted_at: item.submitted_at ?? '',
    respond_by: item.respond_by,
    owner: item.owner,
    state: item.closed_as ?? item.state,
  }));
}

export interface DeadLetterDetail extends DeadLetter {
  operations: { kind: string; state: string; attempts: number; ref?: string }[];
  history: {
    started_at: string;
    operation_key: string;
    number: number;
    outcome: string;
    code?: string;
    status?: number;
    provider_request_id?: string;
  }[];
}

/** Every dead letter of a lead: what it is, what to do, each operation and each call. */
export function courseLines(items: readonly DeadLetterDetail[]): Line[] {
  return items.flatMap((item) => [
    {
      what: `${item.class}${item.code === null ? '' : ` (${item.code})`}`,
      where: item.destination ?? '',
      detail: item.closed_as ?? item.state,
    },
    { what: '  do', where: item.owner, detail: [item.next_action, item.runbook].filter(Boolean).join(' ') },
    ...item.operations.map(({ kind, state, attempts, ref = '' }) => ({
      what: `  operation ${kind}`,
      where: state,
      detail: `${attempts} attempts ${ref}`.trim(),
    })),
    ...item.history.map((call) => ({
      what: `  ${call.started_at}`,
      where: `${call.operation_key.slice(call.operation_key.lastIndexOf(':') + 1)} #${call.number}`,
      detail: [call.outcome, call.status, call.code, call.provider_request_id].filter((part) => part !== undefined).join(' '),
    })),
  ]);
}

export interface Approval {
  batch_id?: string;
  approved: number;
  deadline_at?: string;
  /** Why nothing may be approved at all. */
  reason?: string;
  items: { event_id: string; destination: string; verdict: string; reason?: string }[];
}

/** The batch, then a verdict per item. */
export function approvalLines({ batch_id, approved, deadline_at, items }: Approval): Line[] {
  const batch = batch_id === undefined ? [] : [{ what: `batch ${batch_id}`, result: `${approved} approved, new deadline ${deadline_at}` }];
  return [...batch, ...items.map((item) => ({ what: `${item.event_id} ${item.destination}`, result: verdictOf(item) }))];
}

const verdictOf = ({ verdict, reason }: Approval['items'][number]): string => (reason === undefined ? verdict : `${verdict}: ${reason}`);

export interface Dismissal {
  dismissed: boolean;
  outcome: string;
}

/** What became of the letter, or why it stays as it is. */
export function dismissalLine(id: string, { dismissed, outcome }: Dismissal): Line {
  const words: Readonly<Record<string, string>> = {
    dismissed: 'dismissed',
    row_gone: 'closed: the service has no row of its delivery any more',
    destination_removed: 'closed: its destination is not in the site file any more',
    delivery_decides: 'nothing was changed: it closes by what becomes of its delivery',
    in_batch: 'nothing was changed: it is in an approved batch',
    closed_before: 'nothing was changed: it was closed before',
    unknown_letter: 'nothing was changed: there is no such dead letter',
  };
  return { what: `dead letter ${id}`, result: words[outcome] ?? (dismissed ? 'dismissed' : 'nothing was changed') };
}

export interface Batch {
  batch_id: string;
  state: string;
  approver: string;
  approved_at: string;
  deadline_at: string;
  items: { event_id: string; destination: string; state: string }[] | null;
}

export function batchLines(batch: Batch): Line[] {
  return [
    { what: `batch ${batch.batch_id}`, result: `${batch.state}, approved by ${batch.approver} at ${batch.approved_at}` },
    ...(batch.items ?? []).map(({ event_id, destination, state }) => ({ what: `${event_id} ${destination}`, result: state })),
  ];
}
