import {
  deliveriesOf,
  deliveryColumns,
  insertLeadsSql,
  leadColumns,
  outboxColumns,
  outboxOf,
} from '../../../apps/intake/src/store/insert-leads.js';
import type { NewLead } from '../../../apps/intake/src/store/new-lead.js';

interface Parameter {
  name: string;
  type: string;
  /** The values of one lead. */
  values: readonly unknown[];
}

/** Our own statement for pgbench: constants where the parameters stand, ids made from :id, so that every run saves new leads of equal size. */
export function insertScript(sample: NewLead, size: number): string {
  const arrays = parametersOf(sample).map((parameter) => arrayOf(parameter, size));
  return insertLeadsSql.replaceAll(/\$(\d+)::\w+\[\]/g, (_, index: string) => arrays[Number(index) - 1] ?? 'null');
}

function parametersOf(sample: NewLead): Parameter[] {
  const [deliveries, outbox] = [deliveriesOf([sample]), outboxOf([sample])];
  return [
    ...leadColumns.map(([name, type, value]) => ({ name, type, values: [value(sample)] })),
    ...deliveryColumns.map(([name, type, value]) => ({ name, type, values: deliveries.map(value) })),
    ...outboxColumns.map(([name, type, value]) => ({ name, type, values: outbox.map(value) })),
  ];
}

/** What differs per lead, made by PostgreSQL from :id and the lead's number within the batch. */
const perLead: Record<string, string> = {
  event_id: `md5(:id::text || '-' || lead)::uuid`,
  external_ref: `md5(:id::text || '-' || lead)`,
  lead_ref: `'L-' || left(md5(:id::text || '-' || lead), 16)`,
  lead: 'lead',
};

function arrayOf({ name, type, values }: Parameter, size: number): string {
  const made = perLead[name];
  if (made !== undefined && size === 1) return `array[${values.map(() => made.replaceAll('lead', '1')).join(', ')}]::${type}[]`;
  if (made !== undefined) {
    return `(select array_agg(${made} order by lead) from generate_series(1, ${size}) as lead, generate_series(1, ${values.length}))::${type}[]`;
  }
  const [first] = values;
  if (values.every((value) => value === first)) return `array_fill(${literal(type, first)}::${type}, array[${size * values.length}])`;
  return `array[${Array.from({ length: size }, () => values.map((value) => literal(type, value)).join(', ')).join(', ')}]::${type}[]`;
}

/** Without a colon: pgbench would take what follows it for a variable. */
function literal(type: string, value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`;
  if (value instanceof Date) return `to_timestamp(${value.getTime() / 1_000})`;
  const text = `convert_from('\\x${Buffer.from(String(value)).toString('hex')}', 'UTF8')`;
  return type === 'text' ? text : `${text}::${type}`;
}
