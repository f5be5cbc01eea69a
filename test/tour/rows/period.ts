import { type Form, routes } from '../leads.js';
import type { TourRow } from '../tour-row.js';
import type { CrmName, World } from '../world.js';

interface Compared {
  /** Row that handed the lead in. */
  row: string;
  state: string;
  records: number;
}

/** Leads asked about at the same time. */
const atOnce = 10;

const isForm = (form: string): form is Form => Object.hasOwn(routes, form);

/** Every lead of the tour as lead delivery says and as the CRMs hold it. */
async function compare(world: World): Promise<Compared[]> {
  const records = new Map<CrmName, Map<string, number>>();
  for (const name of ['crm', 'tour', 'door', 'blind'] as const) records.set(name, await world.crm(name).recordCounts());
  const one = async ({ eventId, sent }: World['accepted'][number]): Promise<Compared[]> => {
    if (!isForm(sent.form)) return [];
    const { crm, destination } = routes[sent.form];
    const journey = await world.journey({ eventId });
    const state = journey?.deliveries.find((one) => one.destination === destination)?.state ?? 'not known';
    return [{ row: rowOf(world, sent.campaign), state, records: records.get(crm)?.get(eventId) ?? 0 }];
  };
  const compared: Compared[] = [];
  for (let at = 0; at < world.accepted.length; at += atOnce) {
    compared.push(...(await Promise.all(world.accepted.slice(at, at + atOnce).map(one))).flat());
  }
  return compared;
}

/** Campaigns are `<run>-<row>` and `<run>-<row>-v<n>`. */
const rowOf = (world: World, campaign: string): string => campaign.slice(world.run.length + 1).replace(/-v\d+$/, '');

function rowsWhere(compared: readonly Compared[], wrong: (one: Compared) => boolean): string {
  const rows = [...new Set(compared.filter(wrong).map(({ row }) => row))];
  return rows.length === 0 ? 'none' : rows.sort().join(' ');
}

const mayHold = new Set(['delivered', 'uncertain']);

export const periodRows: TourRow[] = [
  {
    id: 'reconciliation',
    lane: 'period',
    fault: "all of the tour's leads compared with what the CRMs hold; one was lost there",
    expected: { missing: '200-without-commit', doubled: 'none', unexpected: 'none' },
    begin({ world }) {
      const lost = `${world.run}-200-without-commit`;
      return Promise.resolve({
        read: async () => {
          const compared = await compare(world);
          return {
            missing: rowsWhere(compared, ({ state, records }) => state === 'delivered' && records === 0),
            doubled: rowsWhere(compared, ({ records }) => records > 1),
            unexpected: rowsWhere(compared, ({ state, records }) => records > 0 && !mayHold.has(state)),
          };
        },
        hits: () => world.crm('tour').hits(lost),
      });
    },
  },
];
