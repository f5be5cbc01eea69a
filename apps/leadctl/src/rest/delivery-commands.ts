import { ConfigError } from '#runtime';
import { part, type RestCommand, text, type Words } from './rest-command.js';

interface Applied {
  applied: boolean;
  state?: string;
}
type AsPerson = Pick<RestCommand<Applied>, 'call' | 'lines'>;

const lines = ({ state }: Applied) => [{ result: state ?? 'done' }];
const serviceOf = (options: Words) => text(options, 'service');

/** What a person found at the destination. Throws ConfigError unless exactly one of the two is said. */
export function findingOf({ found, absent }: Words): { kind: 'found'; ref: string } | { kind: 'absent' } {
  if (typeof found === 'string' && absent === undefined) return { kind: 'found', ref: found };
  if (found === undefined && absent !== undefined) return { kind: 'absent' };
  throw new ConfigError([{ path: '--found', problem: 'or --absent must be said', fix: 'Say either --found <reference> or --absent' }]);
}

export const lookupDelivery = {
  usage: 'lookup <event-id> <destination>',
  about: 'have the destination asked now whether it has an uncertain operation',
  options: [
    ['--operation-key <key>', 'as `dead-letters show --json` names it'],
    ['--service <name>', 'crm-writer or notifier', 'crm-writer'],
  ],
  call: ([id, destination], options) => ({
    method: 'POST',
    path: `leads/${part(id)}/deliveries/lookup`,
    body: { service: serviceOf(options), destination, operation_key: text(options, 'operationKey') },
  }),
  lines,
} satisfies RestCommand<Applied>;

export const giveEvidence: AsPerson = {
  call: ([id, destination], options) => ({
    method: 'POST',
    path: `leads/${part(id)}/deliveries/evidence`,
    body: {
      service: serviceOf(options),
      destination,
      operation_key: text(options, 'operationKey'),
      finding: findingOf(options),
      reason: text(options, 'reason'),
    },
  }),
  lines,
};

export const discardDelivery: AsPerson = {
  call: ([id, destination], options) => ({
    method: 'POST',
    path: `leads/${part(id)}/deliveries/discard`,
    body: { service: serviceOf(options), destination, reason: text(options, 'reason'), evidence: text(options, 'evidence') },
  }),
  lines,
};
