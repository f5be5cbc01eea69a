import { describe, expect, it } from '@jest/globals';
import { foundContact } from './compare.js';
import type { Mechanism, Party } from './records.js';

const [robot, person] = [7, 12];
const at = (time: string): string => `2026-05-01T${time}:00.000000Z`;
const phone = (more: Partial<Mechanism>): Mechanism => ({ id: 3, kind: 'phone', value: '+12025550122', sequence: 1, ...more });
const party = (more: Partial<Party> = {}): Party => ({
  id: 1,
  name: 'Ada',
  userId: robot,
  createdAt: at('09:00'),
  changedAt: at('10:05'),
  mechanisms: [phone({ userId: person, changedAt: at('10:00') })],
  ...more,
});

describe('a party that was found', () => {
  it('says of each field who wrote it: a number that a person changed stays theirs when we write the name afterwards', () => {
    expect(foundContact(party(), { userId: robot })).toMatchObject({
      changedBy: 'us',
      changedAt: at('10:05'),
      fieldsChangedBy: { name: 'us', phone: 'other', email: 'unknown' },
    });
  });

  it('counts by the newest of its parts where nothing is said of one', () => {
    const changed = party({ mechanisms: [phone({ userId: person, changedAt: at('10:10') })] });
    expect(foundContact(changed, { userId: robot })).toMatchObject({ changedBy: 'other', version: at('10:10') });
  });
});
