import { describe, expect, it } from '@jest/globals';
import { sweptNotification } from './swept-notification.js';

const of = (name: string) => {
  const options = { channels: new Map([['duty', {}]]), leaseMs: 30_000, wakeTopic: (tier: string) => `wake.${tier}`, dlqTopic: 'dlq' };
  return sweptNotification(name, options);
};

describe('a notification by its row alone', () => {
  it('is of its channel, one message that cannot be looked up', () => {
    const swept = of('lead/duty/r1/lead_delivered');
    expect(swept).toMatchObject({ name: 'duty', nativeIdempotency: false, dlqTopic: 'dlq', timeoutMs: 10_000 });
    expect(swept?.wakeTopic('5m')).toBe('wake.5m');
    expect(swept?.canLookUp('message')).toBe(false);
    expect(swept?.operations('e1')).toEqual([{ kind: 'message', operationKey: 'e1:lead/duty/r1/lead_delivered:message' }]);
  });

  it('of a channel that was taken out of the site file is still one; a name that is neither is none', () => {
    expect(of('lead/gone/r1/lead_dead')?.name).toBe('gone');
    expect(of('duty')?.name).toBe('duty');
    expect([of('gone'), of('crm'), of('lead/duty/r1')]).toEqual([undefined, undefined, undefined]);
  });
});
