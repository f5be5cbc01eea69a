// A browser for specs: the system's Chromium, driven by Playwright. Whatever the page says on its console as an error fails the spec.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { projectRoot } from '#testkit';

/** Throws when the machine has no Chromium; CHROMIUM names one that lies elsewhere. */
export function launchBrowser(): Promise<Browser> {
  // One search, in plain JavaScript, because the check of prerequisites runs before anything is installed or built.
  const executablePath = execFileSync(process.execPath, [join(projectRoot(), 'scripts', 'find-chromium.mjs')], { encoding: 'utf8' });
  if (executablePath === '') throw new Error('no Chromium: install one (Debian: apt-get install chromium) or name it in CHROMIUM');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });
}

export interface SeenPage {
  context: BrowserContext;
  page: Page;
  /** What went wrong on the page: errors, refusals of the policy. Answers of 4xx are not in it. */
  wrongs: string[];
}

/** A fresh person at a fresh browser. `wrongs`: where to write what goes wrong; default: a list of its own. */
export async function openPage(browser: Browser, options: { theme?: 'light' | 'dark'; wrongs?: string[] } = {}): Promise<SeenPage> {
  const { theme = 'light', wrongs = [] } = options;
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on('pageerror', (error) => wrongs.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of [45]\d\d|net::ERR/.test(message.text())) wrongs.push(message.text());
  });
  return { context, page, wrongs };
}

/** Signs in with a token, from whatever address the page is at. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Use this token' }).click();
  await page.getByRole('navigation', { name: 'Console' }).waitFor();
}

interface AxeResults {
  passes: unknown[];
  violations: { id: string; impact: string | null; help: string; nodes: { target: unknown; failureSummary?: string }[] }[];
}

/** Serious and critical findings of axe on the page as it is, one line each. `rules`: only these. */
export async function axeFindings(page: Page, rules?: readonly string[]): Promise<string[]> {
  // The console finds its own way without loading another document, so that axe is needed once.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe.source);
  const options = { resultTypes: ['violations'], ...(rules !== undefined && { runOnly: rules }) };
  const { passes, violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults;
  if (passes.length === 0) throw new Error('axe looked at nothing');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${help} at ${String(target)} (${failureSummary?.replace(/\s+/g, ' ') ?? ''})`),
    );
}

/** Rules about colours. Anything else is the same in both themes: they differ by the values of variables alone. */
const ofColours = ['color-contrast', 'link-in-text-block'];

/** Findings in the light theme, and in the dark one those about colours. The page is to be opened light, and is so again. */
export async function axeInBothThemes(page: Page): Promise<string[]> {
  const light = await axeFindings(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await axeFindings(page, ofColours);
  await page.emulateMedia({ colorScheme: 'light' });
  return [...light.map((text) => `light: ${text}`), ...dark.map((text) => `dark: ${text}`)];
}

/** Goes to another place of the console as a link of it would. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'));`);
}
