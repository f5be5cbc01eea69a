import { describe, expect, it } from '@jest/globals';
import type { LeadResolved } from '#contracts';
import type { Site } from '#runtime';
import { resolvedLead } from '../spec/resolved-lead.js';
import { decideTelling, type TellableChannel } from './decide-telling.js';
import { messageText } from './message-text.js';

const site: Pick<Site, 'routing' | 'owners'> = {
  routing: [
    { match: { source: 'website', campaign: 'autumn' }, destinations: ['sandbox-crm'], chat: 'sales', owner: 'ada', policy: 'default' },
    { match: { source: 'silent' }, destinations: ['sandbox-crm'], owner: 'ada', policy: 'default' },
    { match: { source: 'lost' }, destinations: ['sandbox-crm'], chat: 'gone', owner: 'ada', policy: 'default' },
    { match: { source: 'nobodys' }, destinations: ['sandbox-crm'], chat: 'sales', policy: 'default' },
    { match: { source: 'gone-owner' }, destinations: ['sandbox-crm'], chat: 'sales', owner: 'left', policy: 'default' },
  ],
  owners: { duty: { id: 'duty', name: 'Duty desk' }, ada: { id: 'ada', name: 'Sales duty' } },
};
const channels = new Map<string, TellableChannel>([
  ['duty', { recipientKey: 'r1', sandbox: false }],
  ['sales', { recipientKey: 'r1001', sandbox: true }],
]);
const at = new Date('2026-11-01T10:00:00Z');
const event = resolvedLead({
  event_id: '0198c0de-0000-7000-8000-000000000001',
  lead_ref: 'L-ABCDEFGHIJKLMNOP',
  ...{ submitted_at: at, accepted_at: at, resolved_at: at },
});
const decide = (changes: Partial<LeadResolved>) => decideTelling(site, channels, { ...event, ...changes });

describe('decideTelling', () => {
  it('tells the routed chat and owner of the primary outcome, with the outcome as template', () => {
    const told = { tell: true, channel: 'sales', recipientKey: 'r1001', ownerName: 'Sales duty', unknownOwner: false };
    expect(decide({})).toEqual({ ...told, template: 'lead_delivered' });
    expect(decide({ outcome: 'dead' })).toEqual({ ...told, template: 'lead_dead' });
    expect(decide({ outcome: 'expired' })).toEqual({ ...told, template: 'lead_expired' });
  });

  it('is silent about other destinations', () => {
    expect(decide({ primary: false, destination: 'sandbox-marketing' })).toEqual({ tell: false, reason: 'secondary' });
  });

  it('is silent about what a person decided and about outcomes it does not know', () => {
    for (const outcome of ['discarded', 'erased', 'something_new']) expect(decide({ outcome })).toEqual({ tell: false, reason: 'outcome' });
  });

  it('tells the first channel and owner about a lead that no rule planned for', () => {
    const nobody = { tell: true, channel: 'duty', recipientKey: 'r1', ownerName: 'Duty desk', unknownOwner: false };
    expect(decide({ source: 'unheard', destination: 'unrouted', primary: false, outcome: 'dead' })).toEqual({
      ...nobody,
      template: 'lead_dead',
    });
    expect(decide({ source: 'silent' })).toMatchObject({ ...nobody, ownerName: 'Sales duty' });
  });

  it.each(['nobodys', 'gone-owner'])('tells the fallback chat of a lead whose owner is unknown: %s', (source) => {
    expect(decide({ source })).toEqual({
      ...{ tell: true, channel: 'duty', recipientKey: 'r1', template: 'lead_delivered' },
      ...{ ownerName: undefined, unknownOwner: true },
    });
  });

  it('says so when the named channel is not there, or none is', () => {
    expect(decide({ source: 'lost' })).toEqual({ tell: false, reason: 'no_channel' });
    expect(decideTelling(site, new Map(), { ...event, source: 'silent' })).toEqual({ tell: false, reason: 'no_channel' });
  });

  it('says of a lead whose owner is unknown that somebody has to find one, also where nobody can be told', () => {
    const nobody = { tell: false, reason: 'no_channel', unknownOwner: true };
    expect(decideTelling(site, new Map(), { ...event, source: 'gone-owner' })).toEqual(nobody);
  });

  it('asks for no owner where the site has no channel and the rule names none', () => {
    expect(decideTelling(site, new Map(), { ...event, source: 'nobodys' })).toEqual({ tell: false, reason: 'no_channel' });
  });

  it('tells of test leads in sandbox channels only', () => {
    expect(decide({ test: true })).toMatchObject({ tell: true, channel: 'sales' });
    expect(decide({ test: true, source: 'silent' })).toEqual({ tell: false, reason: 'test_lead', channel: 'duty' });
  });
});

describe('messageText', () => {
  it('names the outcome, the lead and where it came from', () => {
    expect(messageText(event, { template: 'lead_delivered', ownerName: 'Sales duty' })).toBe(
      [
        'Lead delivered: L-ABCDEFGHIJKLMNOP',
        'Form: contact',
        'Campaign: autumn',
        'Source: website',
        'Destination: sandbox-crm',
        'Owner: Sales duty',
        '#lead_delivered',
      ].join('\n'),
    );
  });

  it('says that a lead belongs to nobody', () => {
    expect(messageText(event, { template: 'lead_delivered', unknownOwner: true })).toContain('\nOwner: nobody (unknown_owner)\n');
  });

  it('gives the reason of a failure and leaves out what is not known', () => {
    const dead = { ...event, outcome: 'dead', error_class: 'routing', error_code: 'no_route', form: null, campaign: null, test: true };
    expect(messageText(dead, { template: 'lead_dead' })).toBe(
      [
        'TEST Lead NOT delivered: L-ABCDEFGHIJKLMNOP',
        'Source: website',
        'Destination: sandbox-crm',
        'Reason: routing / no_route',
        '#lead_dead',
      ].join('\n'),
    );
  });
});
