import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Database } from '#runtime';
import type { OnRefused } from '../http/permit.js';
import { auditRefusals } from './audit-refusals.js';

const personOf = (subject: string) => ({ subject, name: subject, roles: [], permissions: [], organizations: '*' as const });
const route = 'POST /v1/leads/:event_id/reveal';

describe('a refused attempt', () => {
  let rows: Record<string, unknown>[];
  let clockMs: number;
  let onRefused: OnRefused;
  beforeEach(() => {
    [rows, clockMs] = [[], 1_000];
    const sql = async (_name: string, _text: string, values: readonly unknown[]) => {
      rows.push({ person: values[1], ...JSON.parse(String(values[3])) });
      return [];
    };
    onRefused = auditRefusals({ sql } as unknown as Database, () => clockMs);
  });
  const refuse = (id: string, { who = 'vera', on = route }: { who?: string; on?: string } = {}) =>
    onRefused({ person: personOf(who), permission: 'reveal', route: on, params: { event_id: id } });

  it.each(['ada@example.test', '+12025550123', 'a\u0000b', 'two words', 'x'.repeat(101), ''])('keeps no %j of its path', async (id) => {
    await refuse(id);
    expect(rows).toEqual([{ person: 'vera', permission: 'reveal', route, event_id: '?' }]);
  });

  it.each(['01990000-1111-7222-8333-444455556666', 'crm', 'L-7KQ2M9', 'e:crm:lead~g2'])('keeps the name %s', async (id) => {
    await refuse(id);
    expect(rows).toMatchObject([{ event_id: id }]);
  });

  it('is noted once a minute for each person and route', async () => {
    await refuse('e-1');
    await refuse('e-2');
    await refuse('e-1', { who: 'max' });
    await refuse('e-1', { on: 'POST /v1/destinations/:name/hold' });
    expect(rows).toHaveLength(3);
    clockMs += 59_999;
    await refuse('e-3');
    expect(rows).toHaveLength(3);
    clockMs += 1;
    await refuse('e-4');
    expect(rows.at(-1)).toMatchObject({ person: 'vera', event_id: 'e-4' });
  });
});
