import { describe, expect, it } from '@jest/globals';
import type { LeadResolved } from '#contracts';
import type { PerformContext } from '#delivery';
import { createLogger, type Site } from '#runtime';
import { NotifierTarget } from './notifier-target.js';
import type { OpenChannel } from './open-channels.js';
import { resolvedLead } from './spec/resolved-lead.js';

const site = {
  routing: [{ match: { source: 'website' }, destinations: ['sandbox-crm'], policy: 'default', owner: 'ada' }],
  owners: { ada: { id: 'ada', name: 'Sales duty', channel: 'sales' } },
} as unknown as Site;

/** What one call comes to, and the messages that were sent by it. */
async function performed(isOne: () => Promise<boolean>, channels = ['sales']) {
  const sent: string[] = [];
  const channel = (name: string) => ({
    name,
    recipientKey: 'r1',
    sandbox: false,
    send: async ({ text }: { text: string }) => {
      sent.push(text);
      return { kind: 'succeeded' };
    },
  });
  const target = new NotifierTarget({
    site,
    channels: new Map(channels.map((name) => [name, channel(name) as unknown as OpenChannel])),
    channel: 'sales',
    leaseMs: 30_000,
    backoff: { baseMs: 1, capMs: 1 },
    outdated: { isOne },
    logger: createLogger('spec', 'silent'),
  });
  const context = { event: resolvedLead({ outcome: 'dead' }), timeoutMs: 1_000 } as PerformContext<LeadResolved>;
  const outcome = await target.perform({ kind: 'message', operationKey: 'k' }, context);
  return { outcome, sent: sent.length };
}

describe('a message about to be sent', () => {
  it('is sent where nothing says that it is outdated', async () => {
    expect(await performed(async () => false)).toEqual({ outcome: { kind: 'succeeded' }, sent: 1 });
  });

  it.each<[string, string, Parameters<typeof performed>]>([
    ['is outdated', 'superseded', [async () => true]],
    ['may be, and nobody can say', 'database', [() => Promise.reject(new Error('away'))]],
    ['has no channel any more', 'no_channel', [async () => false, []]],
  ])('is kept back where it %s, which no call was made for', async (_, code, given) => {
    const outcome = { kind: 'transient', code, provablyNotExecuted: true, notCalled: true };
    expect(await performed(...given)).toEqual({ outcome, sent: 0 });
  });
});
