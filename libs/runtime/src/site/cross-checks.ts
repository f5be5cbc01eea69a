import { z } from 'zod';
import { longestDeadlineMs, unrouted } from '#contracts';
import type { ConfigProblem } from '../config/config-error.js';
import { duration } from './site-schema.js';

const text = z.string().optional().catch(undefined);
const texts = z.array(z.string()).catch([]);
const templates = z.record(z.string(), z.string()).catch({});
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
    destinations: entries(
      z
        .object({
          primary: z.boolean().catch(false),
          operations: texts,
          lookup: templates,
          paths: templates,
          timeout_ms: z.number().default(10_000).catch(Number.POSITIVE_INFINITY),
          connect_timeout_ms: z.number().catch(0),
        })
        .catch({ primary: false, operations: [], lookup: {}, paths: {}, timeout_ms: 0, connect_timeout_ms: 0 }),
    ),
    policies: entries(
      z
        .object({ deadline: duration.prefault('4h').catch(0), max_age: duration.prefault('7d').catch(Number.POSITIVE_INFINITY) })
        .catch({ deadline: 0, max_age: 0 }),
    ),
    channels: entries(z.unknown()),
    owners: entries(z.unknown()),
  })
  .catch({ sources: [], routing: [], destinations: {}, policies: {}, channels: {}, owners: {} });

type Readable = z.infer<typeof readable>;
type Source = Readable['sources'][number];
type Rule = Readable['routing'][number];
type Destination = Readable['destinations'][string];

const lookupPlaceholders = ['person_key', 'external_id', 'lead_ref'];

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
    ...Object.entries(site.destinations).flatMap(([name, destination]) => checkDestination(destination, `destinations.${name}`)),
    ...Object.entries(site.policies).flatMap(([name, { deadline, max_age: maxAge }]) => [
      ...when(deadline > maxAge, {
        path: `policies.${name}.max_age`,
        problem: 'is shorter than the deadline',
        fix: 'Make it at least as long as deadline',
      }),
      ...when(deadline > longestDeadlineMs, {
        path: `policies.${name}.deadline`,
        problem: 'is longer than the retention of lead.accepted less 7 days',
        fix: `Make it at most ${longestDeadlineMs / 3_600_000}h`,
      }),
    ]),
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
    ...mustExist({ default: true, ...site.policies }, rule.policy, `${path}.policy`),
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

function checkDestination(destination: Destination, path: string): ConfigProblem[] {
  const { operations, lookup, paths, timeout_ms: timeoutMs, connect_timeout_ms: connectMs } = destination;
  const strangers = Object.entries({ lookup, paths }).flatMap(([field, map]) =>
    Object.keys(map)
      .filter((kind) => !operations.includes(kind))
      .map((kind) => `${path}.${field}.${kind}`),
  );
  return [
    ...when(hasTwins(operations), { path: `${path}.operations`, problem: 'names an operation twice', fix: 'Name each operation once' }),
    ...strangers.flatMap((at) =>
      when(true, { path: at, problem: 'is no operation of this destination', fix: 'Name one of its operations' }),
    ),
    ...Object.entries(lookup).flatMap(([kind, template]) =>
      when(hasUnknownPlaceholder(template), {
        path: `${path}.lookup.${kind}`,
        problem: 'has an unknown placeholder',
        fix: `Use ${lookupPlaceholders.map((name) => `{${name}}`).join(', ')}`,
      }),
    ),
    ...when(connectMs > timeoutMs, {
      path: `${path}.connect_timeout_ms`,
      problem: 'is longer than timeout_ms',
      fix: 'Make it at most timeout_ms',
    }),
  ];
}

function hasUnknownPlaceholder(template: string): boolean {
  return [...template.matchAll(/\{([^}]*)\}/g)].some(([, name]) => !lookupPlaceholders.includes(name ?? ''));
}

function hasTwins(names: string[]): boolean {
  return new Set(names).size !== names.length;
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

function when(wrong: boolean, problem: ConfigProblem): ConfigProblem[] {
  return wrong ? [problem] : [];
}
