// Pictures of the console for the README, taken of a running demo: `npm start`, then `npm run screenshots -- --run-dir .run`. It makes some trouble
// there first, so that there is something to see. What is on the pictures happened; nobody on them exists.
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { type Endpoints, runPaths } from '#testkit';
import { launchBrowser, openPage, signIn } from './browser.js';
import { makeTrouble, workByHand } from './demo-trouble.js';

const root = process.cwd();
const { values } = parseArgs({ options: { 'run-dir': { type: 'string', default: '.run' } } });
const endpoints = JSON.parse(readFileSync(runPaths(resolve(root, values['run-dir'])).endpoints, 'utf8')) as Endpoints;
const { operator, operatorTokens } = endpoints;
const folder = join(root, 'docs', 'screenshots');

type Theme = 'light' | 'dark';

/** The first link of the list on the screen. */
async function openFirst(page: Page): Promise<void> {
  const link = page.locator('main [data-row] a[href]').first();
  if ((await link.count()) > 0) await link.click();
}

const shots: readonly { name: string; path: string; theme?: Theme; go?: (page: Page) => Promise<void> }[] = [
  { name: 'overview', path: '/' },
  { name: 'overview-dark', path: '/', theme: 'dark' },
  { name: 'queues', path: '/queues/dead' },
  { name: 'lead', path: '/queues/dead?view=list&order=newest', go: openFirst },
  { name: 'batch', path: '/batches?state=finished', go: openFirst },
  { name: 'batch-stopped', path: '/batches?state=stopped', go: openFirst },
  { name: 'correction', path: '/corrections', go: openFirst },
  { name: 'reconciliation', path: '/reconciliation/discrepancies' },
  { name: 'runs', path: '/reconciliation/runs', theme: 'dark' },
  { name: 'destinations', path: '/destinations', theme: 'dark' },
  { name: 'audit', path: '/audit' },
];

async function settled(page: Page): Promise<void> {
  await page.getByText('Loading …').first().waitFor({ state: 'detached' });
  await page.waitForTimeout(600);
}

mkdirSync(folder, { recursive: true });
await makeTrouble(endpoints);
await workByHand(endpoints);
const browser = await launchBrowser();
for (const { name, path, theme = 'light', go } of shots) {
  const { context, page } = await openPage(browser, { theme });
  await page.setViewportSize({ width: 1360, height: 860 });
  await page.goto(operator + path);
  await signIn(page, operatorTokens.admin ?? '');
  await settled(page);
  if (go !== undefined) {
    await go(page);
    await settled(page);
  }
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await context.close();
  console.log(`docs/screenshots/${name}.png`);
}
await browser.close();
