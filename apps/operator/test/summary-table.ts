import type { failureClasses } from '#contracts';
import type { Summary, SummaryDelivery } from '../src/leads/summary-facts.js';

export const at = '2026-11-30T14:10:00.000Z';
export const until = '2026-11-30T18:03:00.000Z';

export const nobody = 'Nobody has to act.';
export const operations = 'Whoever is on duty for this system.';
const integration = 'Whoever looks after the connection to the destination.';

type Row = [
  name: string,
  delivery: Partial<SummaryDelivery>,
  says: Pick<Summary, 'what_happened' | 'next' | 'who' | 'when' | 'seen_by_sales'>,
];

/** Written by hand: what a sales manager reads for every state of the one delivery of a lead. */
export const states: Row[] = [
  [
    'accepted',
    { state: 'accepted' },
    {
      what_happened: 'It is on its way to crm.',
      next: 'It goes out within moments.',
      who: nobody,
      seen_by_sales: 'It does not stand in crm yet. Nobody was told yet.',
    },
  ],
  [
    'accepted, destination on hold',
    { state: 'accepted', blocked: 'hold' },
    {
      what_happened: 'It waits to go to crm, which a person has put on hold.',
      next: 'It goes out when crm is released, unless its time is over first.',
      when: until,
      who: operations,
      seen_by_sales: 'It does not stand in crm yet. Nobody was told yet.',
    },
  ],
  [
    'pending',
    { state: 'pending' },
    {
      what_happened: 'It is being handed to crm right now.',
      next: 'The answer of crm is awaited.',
      who: nobody,
      seen_by_sales: 'It does not stand in crm yet. Nobody was told yet.',
    },
  ],
  [
    'in_flight',
    { state: 'in_flight' },
    {
      what_happened: 'It is being handed to crm right now.',
      next: 'The answer of crm is awaited.',
      who: nobody,
      seen_by_sales: 'It does not stand in crm yet. Nobody was told yet.',
    },
  ],
  [
    'waiting',
    { state: 'waiting', code: 'http_503', nextAttemptAt: at },
    {
      what_happened: 'crm could not take it yet.',
      next: 'It is tried again by itself.',
      when: at,
      who: nobody,
      seen_by_sales: 'It does not stand in crm yet. Nobody was told yet.',
    },
  ],
  [
    'waiting, proved absent',
    { state: 'waiting', code: 'proved_absent', nextAttemptAt: at },
    {
      what_happened: 'crm did not get it the first time.',
      next: 'It is tried again by itself.',
      when: at,
      who: nobody,
      seen_by_sales: 'It does not stand in crm yet. Nobody was told yet.',
    },
  ],
  [
    'held by a person',
    { state: 'held', blocked: 'hold' },
    {
      what_happened: 'It waits to go to crm, which a person has put on hold.',
      next: 'It goes out when crm is released, unless its time is over first.',
      when: until,
      who: operations,
      seen_by_sales: 'It does not stand in crm yet. Nobody was told yet.',
    },
  ],
  [
    'held, failing',
    { state: 'held', blocked: 'failing' },
    {
      what_happened: 'It waits to go to crm, which is failing at the moment.',
      next: 'It goes out by itself once crm answers again, unless its time is over first.',
      when: until,
      who: nobody,
      seen_by_sales: 'It does not stand in crm yet. Nobody was told yet.',
    },
  ],
  [
    'held, throttled',
    { state: 'held', blocked: 'throttled' },
    {
      what_happened: 'It waits to go to crm, which asked us to slow down.',
      next: 'It goes out by itself once crm answers again, unless its time is over first.',
      when: until,
      who: nobody,
      seen_by_sales: 'It does not stand in crm yet. Nobody was told yet.',
    },
  ],
  [
    'held, login',
    { state: 'held', blocked: 'auth' },
    {
      what_happened: 'It waits to go to crm, which does not accept our login at the moment.',
      next: 'It goes out once crm accepts our login again, unless its time is over first.',
      when: until,
      who: integration,
      seen_by_sales: 'It does not stand in crm yet. Nobody was told yet.',
    },
  ],
  [
    'uncertain',
    { state: 'uncertain', nextAttemptAt: at },
    {
      what_happened: 'It was sent to crm, but no answer came, so nobody knows yet whether crm has it.',
      next: 'crm is asked whether it has the lead before anything is sent again.',
      when: at,
      who: nobody,
      seen_by_sales: 'It may stand in crm already. Nobody was told yet.',
    },
  ],
  [
    'uncertain for long',
    { state: 'uncertain', class: 'unverified_write' },
    {
      what_happened: 'It was sent to crm, but no answer came, so nobody knows yet whether crm has it.',
      next: 'Nothing happens by itself. A person must look it up there and record what they find; it is not sent again unseen.',
      who: integration,
      seen_by_sales: 'It may stand in crm already. Nobody was told yet.',
    },
  ],
  [
    'delivered',
    { state: 'delivered', ref: 'C-7' },
    {
      what_happened: 'crm has it as C-7.',
      next: 'Nothing more happens here.',
      who: 'Sales duty follows up.',
      seen_by_sales: 'It stands in crm as C-7. Nobody was told.',
    },
  ],
  [
    'expired',
    { state: 'expired', class: 'deadline_exceeded' },
    {
      what_happened: 'It did not reach crm in time.',
      next: 'Nothing happens by itself. Find out what held it up, ask sales whether it is still of use, then approve a replay with a new deadline.',
      who: operations,
      seen_by_sales: 'It does not stand in crm. Nobody was told yet.',
    },
  ],
  [
    'discarded by a person',
    { state: 'discarded', code: 'http_400' },
    {
      what_happened: 'A person decided that it does not go to crm.',
      next: 'Nothing more happens.',
      who: nobody,
      seen_by_sales: 'It does not stand in crm. Nobody was told yet.',
    },
  ],
  [
    'discarded, consent withdrawn',
    { state: 'discarded', code: 'consent_withdrawn' },
    {
      what_happened: 'It did not go to crm: consent was withdrawn.',
      next: 'Nothing more happens.',
      who: nobody,
      seen_by_sales: 'It does not stand in crm. Nobody was told yet.',
    },
  ],
  [
    'erased',
    { state: 'erased' },
    {
      what_happened: 'It did not go to crm: the person’s data was erased first.',
      next: 'Nothing more happens.',
      who: nobody,
      seen_by_sales: 'It does not stand in crm. Nobody was told yet.',
    },
  ],
];

/** Why it ended, for each class of failure. */
export const reasons: Record<(typeof failureClasses)[number], string> = {
  decode: 'It did not reach crm: what came could not be read.',
  invalid: 'It did not reach crm: it did not have the fields that are needed.',
  unknown_source: 'It did not reach crm: it came from a source that is not set up.',
  conflict: 'It did not reach crm: its id had been used for other content.',
  routing: 'It did not reach crm: no rule says where it belongs.',
  unknown_owner: 'It did not reach crm: the person it belongs to is not set up.',
  permanent: 'It did not reach crm: the destination refused it.',
  attempts_exhausted: 'It did not reach crm: the destination kept failing, and every try is used up.',
  deadline_exceeded: 'It did not reach crm: its time was over.',
  auth: 'It did not reach crm: the destination does not let us write this one.',
  protected_field: 'It did not reach crm: it would have changed a field that people keep by hand there.',
  unverified_write: 'It did not reach crm: nobody could find out whether it arrived.',
  oversize: 'It did not reach crm: it is too large.',
};
