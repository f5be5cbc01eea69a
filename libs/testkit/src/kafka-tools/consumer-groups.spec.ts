import { describe, expect, it } from '@jest/globals';
import { readToolOutput } from './consumer-groups.js';

const output = `
Consumer group 'notifier' has no active members.

GROUP     TOPIC          PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID
notifier  lead.resolved  0          12              512             500  -            -     -
notifier  lead.resolved  1          -               7               -    -            -     -
`;

describe('readToolOutput', () => {
  it('reads the rows of the group and tells unknown from zero', () => {
    expect(readToolOutput(output, ['notifier'])).toEqual([
      { group: 'notifier', topic: 'lead.resolved', partition: 0, committed: 12n, end: 512n, lag: 500n },
      { group: 'notifier', topic: 'lead.resolved', partition: 1, committed: undefined, end: 7n, lag: undefined },
    ]);
  });
});
