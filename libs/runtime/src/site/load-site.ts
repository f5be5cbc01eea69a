import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { ConfigError, type ConfigProblem } from '../config/config-error.js';
import { describeIssues } from '../config/describe-issues.js';
import { crossCheck } from './cross-checks.js';
import { outlineOf, type SiteOutline } from './outline.js';
import type { Site } from './site.js';
import { siteSchema } from './site-schema.js';
import { substitute } from './substitute.js';
import { toSite } from './to-site.js';

/** The site file as far as it can be understood. */
export interface ReadSite {
  /** All of it; only where nothing is wrong. */
  site?: Site;
  /** Absent where the file cannot be read at all. */
  outline?: SiteOutline;
  problems: ConfigProblem[];
}

/** Reads the site file like {@link loadSite} and never throws: what is right in it can be held against the rest of the configuration. */
export function readSite(file: string, env: NodeJS.ProcessEnv = process.env): ReadSite {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return { problems: [{ path: file, problem: `cannot be read (${code})`, fix: 'Name a readable file in LD_SITE_FILE' }] };
  }
  return readSiteText(text, env);
}

/** Reads, substitutes `${NAME}` / `${NAME:-default}`, validates and cross-checks the site file. Throws ConfigError with every problem. */
export function loadSite(file: string, env: NodeJS.ProcessEnv = process.env): Site {
  return whole(readSite(file, env));
}

/** As loadSite, from the file's text. */
export function parseSite(text: string, env: NodeJS.ProcessEnv): Site {
  return whole(readSiteText(text, env));
}

function whole({ site, problems }: ReadSite): Site {
  if (site === undefined) throw new ConfigError(problems);
  return site;
}

function readSiteText(text: string, env: NodeJS.ProcessEnv): ReadSite {
  const document = parseDocument(text, { prettyErrors: false });
  if (document.errors.length > 0) return { problems: document.errors.map((error) => syntaxProblem(error, text)) };
  const { value, problems } = substitute(document.toJS({ maxAliasCount: 100 }), env);
  const parsed = siteSchema.safeParse(value);
  if (!parsed.success) addNew(problems, describeIssues(parsed.error.issues, value));
  addNew(problems, crossCheck(value));
  const outline = outlineOf(value);
  return parsed.success && problems.length === 0 ? { site: toSite(parsed.data), outline, problems } : { outline, problems };
}

/** One place is named once: an unset variable also fails its field's pattern, which would only confuse. */
function addNew(problems: ConfigProblem[], found: ConfigProblem[]): void {
  const named = new Set(problems.map(({ path }) => path));
  problems.push(...found.filter(({ path }) => !named.has(path)));
}

function syntaxProblem({ code, pos }: { code: string; pos: [number, number] }, text: string): ConfigProblem {
  const line = text.slice(0, pos[0]).split('\n').length;
  return { path: `line ${line}`, problem: `is not valid YAML (${code})`, fix: 'Correct it; put texts with braces or colons in quotes' };
}
