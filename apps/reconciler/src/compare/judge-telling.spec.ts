import { describe, expect, it } from '@jest/globals';
import type { WindowItem } from '#delivery';
import type { Site } from '#runtime';
import { windowItem, windowOperation } from '../../../../test/support/reconcile/window-item.js';
import { isToldAbout, judgeTelling } from './judge-telling.js';

const channel = (name: string, sandbox: boolean) => ({ name, sandbox });
const site = {
  routing: [{ match: { form: 'contact' }, destinations: ['crm'], chat: 'sales', owner: 'ada', policy: 'default' }],
  channels: { duty: channel('duty', true), sales: channel('sales', false) },
  owners: { ada: { id: 'ada', name: 'Ada' } },
} as unknown as Site;
const resolvedMs = Date.parse('2026-05-01T10:00:00.000Z');
const isDue = (more: Partial<WindowItem>, after = 300_000, where = site) =>
  isToldAbout(windowItem(more), { source: 'website' }, { site: where, nowMs: resolvedMs + after });

describe('who was to be told', () => {
  it.each<[string, Partial<WindowItem>, number, boolean]>([
    ['a delivered lead after five minutes', {}, 300_000, true],
    ['not before', {}, 299_999, false],
    ['a dead one', { state: 'dead' }, 300_000, true],
    ['not what a person decided', { state: 'discarded' }, 300_000, false],
    ['not what still waits', { state: 'waiting', finished_at: undefined }, 300_000, false],
    ['not a test lead on a channel for people', { test: true }, 300_000, false],
    ['a test lead of a form without a rule, on the first channel', { test: true, form: 'other' }, 300_000, true],
  ])('%s', (_case, more, after, wanted) => {
    expect(isDue(more, after)).toBe(wanted);
  });

  it('is nobody where there is no channel', () => {
    expect(isDue({}, 300_000, { ...site, channels: {}, routing: [] })).toBe(false);
  });

  it('counts a message that was sent or may have been, and nothing else', () => {
    const notice = (state: WindowItem['state'], destination = 'lead/sales/0/lead_delivered') => windowItem({ state, destination });
    expect(judgeTelling(windowItem(), [notice('delivered')])).toBeUndefined();
    expect(judgeTelling(windowItem(), [notice('uncertain')])).toBeUndefined();
    expect(judgeTelling(windowItem(), [notice('waiting')])).toMatchObject({
      class: 'told_nobody',
      evidence: { notifications: ['waiting'] },
    });
    expect(judgeTelling(windowItem(), [])).toMatchObject({ class: 'told_nobody', repair: 'tell' });
    expect(judgeTelling(windowItem(), [notice('delivered', 'owner-notice')])).toMatchObject({ class: 'told_nobody' });
  });

  /** A message so many minutes after the lead was delivered. */
  const told = (minutes: number, more: Partial<WindowItem> = {}) =>
    windowItem({
      destination: 'lead/sales/0/lead_delivered',
      finished_at: new Date(resolvedMs + minutes * 60_000).toISOString(),
      ...more,
    });

  it.each<[string, WindowItem[], boolean]>([
    ['four minutes', [told(4)], false],
    ['five', [told(5)], false],
    ['six', [told(6)], true],
    ['forty, and once more later', [told(90), told(40)], true],
    ['four, and once more later', [told(90), told(4)], false],
    ['forty, or nobody knows when', [told(40), told(41, { state: 'uncertain' })], false],
    ['some time, as was only found out later', [told(40, { operations: [windowOperation({ seen_there: true })] })], false],
    ['forty, by an approved item', [told(40, { repair_item: 'item' })], false],
    ['forty, though it was told at once that it was dead', [told(-300, { destination: 'lead/sales/0/lead_dead' }), told(40)], true],
    ['none: it was delivered once more by a repair', [told(-300)], false],
    ['none: only its death was told of', [told(-300, { destination: 'lead/sales/0/lead_dead' })], false],
  ])('is told late, or in time, after %s', (_case, notifications, isLate) => {
    const found = judgeTelling(windowItem(), notifications);
    if (!isLate) return expect(found).toBeUndefined();
    expect(found).toMatchObject({ class: 'relationship', aspect: 'told_late', evidence: { outcome: 'delivered' } });
    expect(found?.repair).toBeUndefined();
  });
});
