import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { attempt, loadSite, namedSecrets, readSite, secretsOfDestinations } from '#runtime';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'second-crm-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface SiteYaml {
  destinations: Record<string, Record<string, unknown>>;
  routing: { match: Record<string, string>; destinations: string[] }[];
}

const demo = readFileSync(join(root, 'config/demo.yaml'), 'utf8');
/** What the launcher fills in. */
const env = Object.fromEntries(
  [...demo.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = '']) => [
    name,
    name.endsWith('_HASH') ? `sha256:${'0a'.repeat(32)}` : 'https://sandbox.example.test',
  ]),
);

/** The one YAML block of the README: "needs only this, and its name in a routing rule". */
function ofReadme(): SiteYaml['destinations'] {
  const blocks = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block]) =>
    String(block),
  );
  expect(blocks).toHaveLength(1);
  return (parse(blocks[0] ?? '') as SiteYaml).destinations;
}

/** The demo with these destinations as well, each named in the rule of the form `contact`, as a file. */
function siteWith(destinations: SiteYaml['destinations']): string {
  const site = parse(demo) as SiteYaml;
  Object.assign(site.destinations, destinations);
  site.routing.find(({ match }) => match.form === 'contact')?.destinations.push(...Object.keys(destinations));
  const file = join(folder, 'my-site.yaml');
  writeFileSync(file, stringify(site));
  return file;
}

describe("the README's second CRM", () => {
  it('needs only what the README shows, and its name in a routing rule', () => {
    const site = loadSite(siteWith(ofReadme()), env);
    expect(site.destinations['partner-crm']).toMatchObject({
      connector: 'webhook',
      operations: ['lead'],
      baseUrl: 'https://crm.example.test',
      paths: { lead: '/incoming/leads' },
      nativeIdempotency: true,
      requiresConsent: true,
    });
    expect(site.routing.filter(({ destinations }) => destinations.includes('partner-crm'))).toHaveLength(1);
  });

  it('takes its secret from the variable that the README names', () => {
    const { outline } = readSite(siteWith(ofReadme()), env);
    const problemsWith = (more: Record<string, string>) =>
      namedSecrets(secretsOfDestinations(outline, ['partner-crm']), { dir: folder, env: { ...env, ...more } }).map(
        (check) => attempt(check).problems.length,
      );
    expect(problemsWith({})).toEqual([1]);
    expect(problemsWith({ PARTNER_CRM_SECRET: 'whsec_c2VjcmV0LW9mLXRoZS10ZXN0' })).toEqual([0]);
  });

  it('is refused where the README would forget a field that is needed', () => {
    const { 'partner-crm': { base_url: _, ...rest } = {} } = ofReadme();
    expect(() => loadSite(siteWith({ 'partner-crm': rest }), env)).toThrow(/partner-crm\.base_url/);
  });
});
