import type { Line } from '../output.js';
import { named, type RestCommand } from './rest-command.js';

interface BalanceDay {
  day: string;
  organization: string;
  source: string;
  destination: string;
  accepted: number;
  found: Record<string, number>;
  missing: number;
  incomplete: number;
  balanced: boolean;
}

export const balance = {
  usage: 'balance',
  about: 'what was accepted and where it is, by day, source and destination; exit 3 where something is unaccounted for',
  options: [
    ['--from <day>', 'day of acceptance (UTC), such as 2026-06-01'],
    ['--to <day>', 'until this day, inclusive'],
    ['--source <source>', 'only of this source'],
    ['--destination <name>', 'only for this destination'],
  ],
  call: (_words, options) => ({
    method: 'GET',
    path: 'reconciliation/balances',
    query: named(options, ['from', 'to', 'source', 'destination']),
  }),
  lines: ({ items }) =>
    items.map(({ day, organization, source, destination, accepted, found, missing, incomplete, balanced }): Line => {
      const where = Object.entries(found).map(([state, count]) => `${state} ${count}`);
      return { day, organization, source, destination, accepted, found: where.join(', '), missing, incomplete, balanced };
    }),
  empty: 'no balance was taken',
  found: ({ items }) => items.some(({ balanced }) => !balanced),
} satisfies RestCommand<{ items: BalanceDay[] }>;
