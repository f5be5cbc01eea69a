import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { notificationName, parseNotificationName } from './notification-name.js';

describe('notification names', () => {
  it('are plain for ordinary parts', () => {
    expect(notificationName({ scope: 'lead', channel: 'sales', recipientKey: '0f0f', template: 'lead_delivered' })).toBe(
      'lead/sales/0f0f/lead_delivered',
    );
  });

  it('give back any parts, so no two keys share a name', () => {
    const part = fc.string({ minLength: 1, unit: 'binary' });
    fc.assert(
      fc.property(part, part, part, (channel, recipientKey, template) => {
        const key = { scope: 'lead' as const, channel, recipientKey, template };
        expect(parseNotificationName(notificationName(key))).toEqual(key);
      }),
    );
  });

  it.each(['sandbox-crm', 'lead/sales/0f0f', 'lead/a/b/c/d', 'other/a/b/c', 'lead/%/b/c', 'lead/a/b/%E0%A4%A', '%'])(
    'does not take %s for its own',
    (name) => {
      expect(parseNotificationName(name)).toBeUndefined();
    },
  );
});
