// A browser for specs: the system's Chromium, driven by Playwright. Whatever the page says on its console as an error fails the spec.
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const candidates = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/opt/google/chrome/chrome',
];

/** Throws when the machine has no Chromium; CHROMIUM names one that lies elsewhere. */
export function launchBrowser(): Promise<Browser> {
  const executablePath = candidates.find((path) => path !== undefined && existsSync(path));
  if (executablePath === undefined) throw new Error('no Chromium: install one (Debian: apt-get install chromium) or name it in CHROMIUM');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });
}

export interface SeenPage {
  context: BrowserContext;
  page: Page;
  /** What went wrong on the page: errors, refusals of the policy. Answers of 4xx are not in it. */
  wrongs: string[];
}

/** A fresh person at a fresh browser. */
export async function openPage(browser: Browser, { theme = 'light' }: { theme?: 'light' | 'dark' } = {}): Promise<SeenPage> {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const wrongs: string[] = [];
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

/** Serious and critical findings of axe on the page as it is, one line each. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { passes, violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as AxeResults;
  if (passes.length === 0) throw new Error('axe looked at nothing');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${help} at ${String(target)} (${failureSummary?.replace(/\s+/g, ' ') ?? ''})`),
    );
}
