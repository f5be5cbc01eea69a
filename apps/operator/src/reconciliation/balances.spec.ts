import { describe, expect, it } from '@jest/globals';
import { balancesQuery } from './balances.js';

describe('the days of balances', () => {
  it.each([{}, { to: '1970-01-01' }, { from: '2026-01-01', to: '2026-02-28' }])('%j are taken', (asked) => {
    expect(balancesQuery.safeParse(asked).success).toBe(true);
  });

  it.each([{ to: '0000-01-01' }, { to: '0001-01-01' }, { to: '2026-02-30' }, { from: '2020-01-01', to: '2026-01-01' }])(
    '%j are refused',
    (asked) => {
      expect(balancesQuery.safeParse(asked).success).toBe(false);
    },
  );
});
