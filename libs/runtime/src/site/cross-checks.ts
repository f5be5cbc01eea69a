import { z } from 'zod';
import { longestVaultMs, refusedRecord, unrouted } from '#contracts';
import type { ConfigProblem } from '../config/config-error.js';
import { builtInPolicies } from './built-in-policies.js';
import { checkDestination, readableDestination } from './check-destination.js';
import { checkPolicies } from './check-policies.js';
import { hasTwins, when } from './problems.js';
import { duration } from './schema-parts.js';

const text = z.string().optional().catch(undefined);
const texts = z.array(z.string()).catch([]);
const entries = <T extends z.ZodType>(entry: T) => z.record(z.string(), entry).catch({});
const list = <T extends z.ZodType>(entry: T) => z.array(entry).catch([]);

/** The file as far as it can be understood: a field of the wrong form is absent, so that one mistake does not hide another. */
const readable = z
  .object({
    sources: list(z.object({ id: text, organization: text, key_hashes: texts }).catch({ key_hashes: [] })),
    routing: list(
      z
        .object({
          match: z.object({ organization: text, source: text, form: text, campaign: text }).catch({}),
          destinations: texts,
          chat: text,
          owner: text,
          policy: text,
        })
        .catch({ match: {}, destinations: [] }),
    ),
    destinations: entries(readableDestination),
    policies: entries(
      z
        .object({ deadline: duration.optional().catch(0), max_age: duration.prefault('7d').catch(Number.POSITIVE_INFINITY) })
        .catch({ deadline: 0, max_age: 0 }),
    ),
    channels: entries(z.unknown()),
    owners: entries(z.object({ channel: text }).catch({})),
    // Not a number where it cannot be read: no comparison with it is a problem of its own.
    retention: z
      .object({ vault: duration.optional().catch(Number.NaN) })
      .catch({})
      .prefault({}),
  })
  .catch({ sources: [], routing: [], destinations: {}, policies: {}, channels: {}, owners: {}, retention: {} });

type Readable = z.infer<typeof readable>;
type Source = Readable['sources'][number];
type Rule = Readable['routing'][number];

/** What no single field shows: names that must exist, pairs that must be unique, at most one primary destination per rule. */
export function crossCheck(document: unknown): ConfigProblem[] {
  const site = readable.parse(document);
  return [
    ...checkSources(site.sources),
    ...site.routing.flatMap((rule, index) => checkRule(site, rule, `routing[${index}]`)),
    ...when(Object.hasOwn(site.destinations, unrouted), {
      path: `destinations.${unrouted}`,
      problem: 'is the name of deliveries that no rule matches',
      fix: 'Give the destination another name',
    }),
    ...when(Object.hasOwn(site.destinations, refusedRecord), {
      path: `destinations.${refusedRecord}`,
      problem: 'is the name of refused records',
      fix: 'Give the destination another name',
    }),
    ...Object.entries(site.destinations).flatMap(([name, destination]) => checkDestination(destination, `destinations.${name}`)),
    ...Object.entries(site.destinations).flatMap(([name, { reconcile, tryton }]) => [
      ...mustExist(site.owners, reconcile?.owner, `destinations.${name}.reconcile.owner`),
      ...Object.keys(tryton?.employees ?? {}).flatMap((owner) =>
        mustExist(site.owners, owner, `destinations.${name}.tryton.employees.${owner}`),
      ),
    ]),
    ...Object.entries(site.owners).flatMap(([id, { channel }]) => mustExist(site.channels, channel, `owners.${id}.channel`)),
    ...checkPolicies(site.policies, {
      destinations: site.destinations,
      vaultMs: site.retention.vault ?? longestVaultMs,
      named: new Set(site.routing.map(({ policy }) => policy)),
    }),
  ];
}

function checkSources(sources: Source[]): ConfigProblem[] {
  const names = new Set<string>();
  const keys = new Set<string>();
  return sources.flatMap(({ organization, id, key_hashes: hashes }, index) => {
    const name = `${organization}/${id}`;
    const twice = id !== undefined && organization !== undefined && names.has(name);
    names.add(name);
    return [
      ...when(twice, { path: `sources[${index}].id`, problem: 'is used twice in its organization', fix: 'Give it another id' }),
      ...hashes.flatMap((hash, position) => {
        const known = keys.has(hash);
        keys.add(hash);
        return when(known, {
          path: `sources[${index}].key_hashes[${position}]`,
          problem: 'is used twice',
          fix: 'Give every source keys of its own',
        });
      }),
    ];
  });
}

function checkRule(site: Readable, rule: Rule, path: string): ConfigProblem[] {
  const { organization, source } = rule.match;
  const fits = (candidate: Source) =>
    (organization === undefined || candidate.organization === organization) && (source === undefined || candidate.id === source);
  const primaries = rule.destinations.filter((name) => site.destinations[name]?.primary).length;
  const at = `${path}.destinations`;
  return [
    ...rule.destinations.flatMap((name, index) => mustExist(site.destinations, name, `${at}[${index}]`)),
    ...mustExist({ ...builtInPolicies, ...site.policies }, rule.policy, `${path}.policy`),
    ...mustExist(site.channels, rule.chat, `${path}.chat`),
    ...mustExist(site.owners, rule.owner, `${path}.owner`),
    ...when(!site.sources.some(fits), {
      path: `${path}.match`,
      problem: 'fits no source',
      fix: 'Name an organization and a source that stand under sources',
    }),
    ...(['form', 'campaign'] as const).flatMap((field) => mustBeSlug(rule.match[field], `${path}.match.${field}`)),
    ...when(hasTwins(rule.destinations), { path: at, problem: 'names a destination twice', fix: 'Name each destination once' }),
    ...when(primaries > 1, { path: at, problem: 'has more than one primary destination', fix: 'Keep primary: true on one of them' }),
    ...when(rule.chat !== undefined && primaries === 0, {
      path: at,
      problem: 'has a chat but no primary destination',
      fix: 'Set primary: true on the destination whose outcome the chat is told',
    }),
  ];
}

function mustExist(map: Record<string, unknown>, name: string | undefined, path: string): ConfigProblem[] {
  const known = Object.keys(map);
  const fix = known.length > 0 ? `Use one of: ${known.join(', ')}` : 'Define it';
  return when(name !== undefined && !Object.hasOwn(map, name), { path, problem: 'names something that does not exist', fix });
}

/** Leads are matched by the slugs of their form and campaign; anything else in a rule would match none, silently. */
function mustBeSlug(name: string | undefined, path: string): ConfigProblem[] {
  const words = /^[\p{L}\p{M}\p{N}]+(?:-[\p{L}\p{M}\p{N}]+)*$/u;
  return when(name !== undefined && !(words.test(name) && name === name.normalize('NFKC').toLowerCase()), {
    path,
    problem: 'is not a slug, so that no lead has it',
    fix: 'Write it in lower case, letters and digits, with a hyphen for everything between',
  });
}
