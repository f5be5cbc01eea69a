import type { TcpProxy } from '#testkit';
import type { CrmWitness } from './crm-witness.js';

export interface NewLead {
  sourceEventId: string;
  form: string;
  campaign: string;
  /** Makes the person: the same number within a campaign is the same person. */
  person: number;
  custom?: Record<string, string>;
  message?: string;
  email?: string;
}

export interface IntakeAnswer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

/** A lead that was handed in and answered 202. */
export interface Lead {
  eventId: string;
  leadRef: string;
  sourceEventId: string;
}

/** What `GET /v1/leads` says of a lead, as far as it is read here. */
export interface Journey {
  event_id: string;
  lead_ref: string | null;
  status: string;
  deliveries: { destination: string; state: string; class?: string; code?: string }[];
  refusals: { class: string; code: string }[];
}

/** One call to a destination as the service that made it wrote it down. */
export interface RecordedCall {
  outcome: string;
  code?: string | null;
  status?: number | null;
  duration_ms?: number | null;
}

export interface BalanceReport {
  balanced: boolean;
  /** One line for the reader. */
  summary: string;
}

export type CrmName = 'crm' | 'tour' | 'door' | 'blind';

/** A server on the TLS port that takes connections and never finishes a handshake. */
export interface TlsDoor {
  close(): Promise<void>;
}

/** Everything a row may do and read. One world is lead delivery, the other a naive writer at the same doors. */
export interface World {
  readonly against: 'delivery' | 'naive';
  /** Longest time that a row is waited for, in ms, where that is shorter than the row's own: what will not come need not be waited for long. */
  readonly patienceMs?: number;
  /** Unlike that of any other run on the same stack. */
  readonly run: string;
  /** Every lead that was answered 202, once each, with what was sent. */
  readonly accepted: readonly (Lead & { sent: NewLead })[];
  post(lead: NewLead): Promise<IntakeAnswer>;
  /** Undefined: not known. Throws while the state cannot be told: ask again. */
  journey(by: { eventId: string } | { sourceEventId: string }): Promise<Journey | undefined>;
  crm(name: CrmName): CrmWitness;
  /** Messages in the sales chat that name the lead. */
  messages(leadRef: string): Promise<number>;
  recordedCalls(eventId: string, destination: string): Promise<RecordedCall[]>;
  /** Class of the lead's dead letter, undefined while there is none. */
  deadLetter(eventId: string): Promise<string | undefined>;
  readonly door: TcpProxy;
  /** Produces to the topic `leads` as an upstream system. */
  produce(records: { key: string; value: Buffer }[]): Promise<void>;
  /** Records that intake has refused with this class since the tour began, as their dead letters say. */
  refusals(failureClass: string): Promise<number>;
  /** A lead in the framing of the topic `leads`. */
  encode(lead: NewLead, overrides?: Record<string, unknown>): Buffer;
  /** Records that lie on a topic now. */
  recordsOn(topic: string): Promise<number>;
  /** Deletes every record on the topic and gives their number. */
  deleteRecords(topic: string): Promise<number>;
  /** Produces the last record of the topic once more, byte for byte; gives how many of that topic the group has consumed beyond it. */
  repeatLastRecord(topic: string, group: string): Promise<() => Promise<number>>;
  /** Resolves when the fault of this row, which lasts only `lastsMs`, has to begin for the shared kill to meet it. */
  turnBeforeKill(row: string, lastsMs: number): Promise<void>;
  /** Every row that takes part says when it is ready to be hit; the last one lets the kill happen. Resolves after it. */
  killTogether(row: string): Promise<void>;
  /** The row will not come to the kill: the others need not wait for it. */
  notComing(row: string): void;
  /** Stops the writer's process for so long without ending it. */
  freezeWriter(ms: number): Promise<void>;
  /** Deliveries whose time had passed unnoticed and that the writer's sweeper has woken, since that process began. */
  overdueWakeUps(): Promise<number>;
  /** Has a person's approval for one lead's replay; gives the items that were let through. */
  approveReplay(eventId: string, destination: string): Promise<number>;
  /** Has the destination compared with what was delivered of this campaign; resolves when that is done. */
  compare(campaign: string, destination: string): Promise<void>;
  /** Classes of what is known to differ of the lead. */
  differences(eventId: string): Promise<string[]>;
  balance(): Promise<BalanceReport>;
  close(): Promise<void>;
}
