import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import type { Browser, Page } from 'playwright-core';
import { parse, stringify } from 'yaml';
import { person, plantFields } from '../privacy/planted.js';
import { soon } from '../support/common-stack.js';
import { Desk } from '../support/desk.js';
import { eventually } from '../support/eventually.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';
import { leadBody } from '../support/traffic.js';
import { axeFindings, axeInBothThemes, goTo, launchBrowser, openPage, type SeenPage, signIn } from './browser.js';
import { audience, clientId, type Issuer, roleMap, startIssuer } from './issuer.js';

jest.setTimeout(300_000);

/** What people on duty do in the console, with everything behind it real. */
let stack: OpenStack;
let browser: Browser;
let database: pg.Client;
let issuer: Issuer;
/** What went wrong on any page of a test. */
const wrongs: string[] = [];
const residents = new Map<Role, Page>();
/** Pages of one test. */
const guests: SeenPage[] = [];
let sent = 0;
const folder = mkdtempSync(join(tmpdir(), 'journeys-'));

/** The demo, with an issuer whose people sign in beside those of the tokens. */
function siteFile(): string {
  const site = parse(readFileSync('config/demo.yaml', 'utf8')) as { operator?: object };
  const oidc = { issuer: issuer.url, audience, client_id: clientId, role_map: roleMap };
  const file = join(folder, 'site.yaml');
  writeFileSync(file, stringify({ ...site, operator: { ...site.operator, oidc } }));
  return file;
}

beforeAll(async () => {
  issuer = await startIssuer();
  [stack, browser] = await Promise.all([openStack({ config: siteFile(), env: soon }), launchBrowser()]);
  await issuer.admit(stack.endpoints().operator);
  database = new pg.Client({ connectionString: stack.endpoints().databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await browser?.close();
  await database?.end();
  await stack?.close();
  await issuer?.stop();
  rmSync(folder, { recursive: true });
}, closeMs);
afterEach(async () => {
  await stack.sandbox.clearRules();
  for (const { context } of guests.splice(0)) await context.close();
  expect(wrongs.splice(0)).toEqual([]);
});

type Role = 'viewer' | 'operator' | 'approver' | 'admin';

async function opened(): Promise<SeenPage> {
  const seen = await openPage(browser, { wrongs });
  seen.page.setDefaultTimeout(60_000);
  return seen;
}

/** A person of the role, at a path of the console: the same one in every test, who stays signed in as people do. */
async function as(role: Role, path = '/'): Promise<Page> {
  const known = residents.get(role);
  if (known !== undefined) {
    await goTo(known, path);
    return known;
  }
  const { page } = await opened();
  residents.set(role, page);
  const { operator, operatorTokens } = stack.endpoints();
  await page.goto(operator + path);
  await signIn(page, operatorTokens[role] ?? '');
  return page;
}

async function atLead(role: Role, eventId: string): Promise<Page> {
  const page = await as(role, `/leads/${eventId}`);
  await page.getByText(eventId, { exact: true }).first().waitFor();
  return page;
}

/** A person of the issuer, at a path of the console. */
async function asStaff(name: string, path: string): Promise<SeenPage> {
  const seen = await opened();
  guests.push(seen);
  const { page } = seen;
  await page.goto(stack.endpoints().operator + path);
  await page.getByRole('button', { name: `Sign in with ${new URL(issuer.url).host}` }).click();
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('navigation', { name: 'Console' }).waitFor();
  return seen;
}

async function submit(count: number, prefix: string): Promise<string[]> {
  const ids: string[] = [];
  const one = async (body: object): Promise<string> => {
    const answer = await stack.intake.post(body);
    expect(answer.status).toBe(202);
    return String(answer.body.event_id);
  };
  while (ids.length < count) {
    const some = Array.from({ length: Math.min(count - ids.length, 20) }, (_, at) => leadBody(`${prefix}-${ids.length + at}`, sent + at));
    sent += some.length;
    ids.push(...(await Promise.all(some.map(one))));
  }
  return ids;
}

/** How many of these leads crm-writer has in one of the states at the CRM: one look, where asking for each would keep the machine busy. */
async function inState(ids: readonly string[], ...states: string[]): Promise<number> {
  const text = `select from crm_writer.delivery where destination = 'sandbox-crm' and event_id = any ($1::uuid[]) and state = any ($2)`;
  return (await database.query(text, [ids, states])).rowCount ?? 0;
}

const untilAll = (ids: readonly string[], ...states: string[]): Promise<void> =>
  eventually(async () => expect(await inState(ids, ...states)).toBe(ids.length), 120_000);

/** Reason of a dialog, and its button. */
async function confirm(page: Page, button: string, reason = 'Seen in the test'): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill(reason);
  await dialog.getByRole('button', { name: button, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

async function draftFromGroup(page: Page, perSecond = '20'): Promise<string> {
  await page
    .getByRole('row', { name: /Permanent.*sandbox-crm/ })
    .getByRole('button', { name: 'Replay …' })
    .click();
  await page.getByLabel('Items per second').fill(perSecond);
  await page.getByLabel('Reason').fill('The CRM takes them again');
  await page.getByRole('button', { name: 'Draft', exact: true }).click();
  await page.waitForURL(/\/batches\/[0-9a-f-]{36}$/);
  await page.getByRole('button', { name: 'Dry run', exact: true }).click();
  await page.getByRole('button', { name: 'Dry run again' }).waitFor();
  await page.getByRole('button', { name: /^eligible/ }).waitFor();
  return new URL(page.url()).pathname;
}

/** Starts a run over the CRM and waits until so many have finished. */
async function compare(page: Page, finished: number): Promise<void> {
  await page.getByRole('button', { name: 'Start a run …' }).click();
  await page.getByRole('dialog').getByLabel('Destination').selectOption('sandbox-crm');
  await page.getByRole('dialog').getByLabel('Submitted').selectOption('1h');
  await confirm(page, 'Start');
  const mine = page.getByRole('row', { name: /^sandbox-crm.*finished/ });
  await eventually(async () => expect(await mine.filter({ hasNotText: 'schedule' }).count()).toBe(finished), 60_000);
}

describe('the console on a running instance', () => {
  it('finds a lead by an address, and tells where it is', async () => {
    const [eventId = ''] = await submit(1, 'find');
    await untilAll([eventId], 'delivered');
    const page = await as('viewer');
    await page.getByRole('searchbox').fill(person(sent - 1).email);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/leads/${eventId}`);
    const summary = page.getByRole('region', { name: 'Summary' });
    await summary.getByText('Whose turn it is').waitFor();
    await page.getByRole('article', { name: 'Delivery to sandbox-crm' }).getByText('delivered').first().waitFor();
    expect(await page.content()).not.toContain(person(sent - 1).email);
    expect(page.url()).not.toContain('@');
    expect(await axeFindings(page)).toEqual([]);
  });

  it('takes a group of dead letters through dry run, approval by another person and canary to the end', async () => {
    await stack.sandbox.control({ operation: 'lead', status: 400 });
    const ids = await submit(12, 'replay');
    await untilAll(ids, 'dead');
    const page = await as('operator', '/queues/dead');
    await page
      .getByRole('row', { name: /Permanent.*sandbox-crm/ })
      .getByRole('cell', { name: '12', exact: true })
      .waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await stack.sandbox.clearRules();
    const path = await draftFromGroup(page);
    const own = page.getByRole('button', { name: 'Approve' });
    expect(await page.locator(`[id="${await own.getAttribute('aria-describedby')}"]`).textContent()).toContain('permission replay_approve');
    const { lookups } = await stack.sandbox.crmStats();
    const other = await as('approver', path);
    await other.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('12 of 12 sent').waitFor();
    await page.getByText(/10 of 10 found at the destination/).waitFor();
    await page.getByRole('heading', { level: 1 }).getByText('finished').waitFor();
    expect(await page.getByRole('progressbar', { name: /Share of the approved/ }).getAttribute('aria-valuenow')).toBe('100');
    expect((await stack.sandbox.crmStats()).lookups).toBeGreaterThan(lookups);
    await untilAll(ids, 'delivered');
    expect(await axeFindings(page)).toEqual([]);
  });

  it('shows why a batch stopped itself on the same class of error', async () => {
    await stack.sandbox.control({ operation: 'lead', status: 400 });
    const ids = await submit(12, 'again');
    await untilAll(ids, 'dead');
    const page = await as('operator', '/queues/dead');
    await page
      .getByRole('row', { name: /Permanent.*sandbox-crm/ })
      .getByRole('cell', { name: '12', exact: true })
      .waitFor();
    // So fast that all of the canary is out before any of it has failed.
    const path = await draftFromGroup(page, '1000');
    const other = await as('approver', path);
    await other.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText(/stopped by same_error: same error/).waitFor();
    await page.getByText('10 of 12 sent', { exact: true }).waitFor();
    // Those behind the canary were never begun.
    await page.getByText(/^.?stopped 2$/).waitFor();
  });

  it('holds a destination with a reason, and shows how it drains once released', async () => {
    // What fails now and then waits, and waiting leads are what a hold holds: one that comes later is not taken up.
    await stack.sandbox.control({ operation: 'lead', status: 503, every: 3 });
    const ids = await submit(180, 'held');
    await untilAll(ids, 'delivered', 'waiting');
    const page = await as('operator', '/destinations');
    const crm = page.locator('#sandbox-crm');
    await crm.getByRole('button', { name: 'Hold …' }).click();
    await confirm(page, 'Hold', 'Their maintenance until three');
    await crm.getByText('Their maintenance until three').waitFor();
    await untilAll(ids, 'delivered', 'held');
    const held = await inState(ids, 'held');
    expect(held).toBeGreaterThan(10);
    await crm.getByRole('term').filter({ hasText: 'Held' }).locator(`xpath=following-sibling::dd[1][.='${held}']`).waitFor();
    expect(await crm.getByRole('progressbar').count()).toBe(0);
    await stack.sandbox.clearRules();
    await stack.sandbox.control({ operation: 'lead', latencyMs: 1_000 });
    await crm.getByRole('button', { name: 'Release …' }).click();
    await confirm(page, 'Release');
    await crm.getByRole('progressbar', { name: 'Drain of what waited' }).waitFor();
    await crm.getByText(/^Draining: \d+ left at/).waitFor();
    await stack.sandbox.clearRules();
    await untilAll(ids, 'delivered');
    await crm.getByText('Their maintenance until three').waitFor({ state: 'detached' });
    await crm.getByRole('progressbar').waitFor({ state: 'detached' });
    expect(await axeFindings(page)).toEqual([]);
  });

  it('reveals a person to whoever may see them, and the audit names who looked and why', async () => {
    const [eventId = ''] = await submit(1, 'reveal');
    const viewer = await atLead('viewer', eventId);
    expect(await viewer.getByRole('button', { name: 'Reveal' }).getAttribute('aria-disabled')).toBe('true');
    const page = await atLead('operator', eventId);
    await page.getByRole('button', { name: 'Reveal' }).click();
    await confirm(page, 'Reveal for 5 minutes', 'They asked us to call back');
    await page.getByText(person(sent - 1).phone).waitFor();
    await page.getByRole('timer').waitFor();
    await page.getByRole('button', { name: 'Hide now' }).click();
    await page.getByText(person(sent - 1).phone).waitFor({ state: 'detached' });
    const audit = await as('admin', '/audit?action=lead.reveal');
    await audit
      .getByRole('row', { name: new RegExp(eventId) })
      .getByText('They asked us to call back')
      .waitFor();
    await audit.getByRole('button', { name: 'Verify the chain' }).click();
    await audit.getByText(/entries are as they were written/).waitFor();
    expect(await axeFindings(audit)).toEqual([]);
  });

  it('corrects a lead at its destination once another person approves it, without a second record', async () => {
    const [eventId = ''] = await submit(1, 'correct');
    await untilAll([eventId], 'delivered');
    const newName = 'Zenobia Quillfeather the Elder';
    plantFields({ name: newName });
    const page = await atLead('operator', eventId);
    await page.getByRole('button', { name: 'Correct …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Deliver it to').selectOption('sandbox-crm');
    await dialog.getByLabel('Name').fill(newName);
    await confirm(page, 'Draft the correction', 'Misspelt on the form');
    await page.waitForURL(/\/corrections\//);
    expect(await page.getByRole('button', { name: 'Approve' }).getAttribute('aria-disabled')).toBe('true');
    // Its approver is sent no address.
    const other = await as('approver', '/corrections?state=draft');
    await other
      .getByRole('row', { name: /Misspelt on the form/ })
      .getByRole('link')
      .first()
      .click();
    await other.waitForURL(page.url());
    await other.getByRole('button', { name: 'Approve' }).click();
    await page.getByText(/^.?done$/).waitFor();
    const desk = new Desk(stack.endpoints());
    const { contact_id } = await desk.leadOf(eventId);
    const { contacts } = await desk.everything();
    expect(contacts.filter(({ name }) => name === newName).map(({ id }) => id)).toEqual([contact_id]);
    expect(await axeFindings(page)).toEqual([]);
  });

  it('signs people in with the issuer of the site by code and PKCE, and lets the page talk with nobody else', async () => {
    const { page } = await asStaff('nina.duty', '/batches?state=finished');
    await page.waitForURL('**/batches?state=finished');
    await page.getByRole('link', { name: 'nina.duty' }).waitFor();
    expect(issuer.asked).toEqual(expect.arrayContaining(['GET /auth', 'POST /token']));
    const answer = await page.request.get(page.url());
    expect(/connect-src ([^;]*)/.exec(answer.headers()['content-security-policy'] ?? '')?.[1]).toBe(`'self' ${issuer.url}`);
    expect(await page.evaluate(`fetch('${stack.endpoints().intake}/health').then(() => 'let through', () => 'kept back')`)).toBe(
      'kept back',
    );
    expect(wrongs.splice(0).join()).toContain('connect-src');
    expect(await page.evaluate('JSON.stringify([location.href, document.cookie, localStorage])')).not.toMatch(/eyJ|code=/);
    await page
      .getByRole('navigation', { name: 'Console' })
      .getByRole('link', { name: /^Access/ })
      .click();
    await page.getByText('nina.duty', { exact: true }).last().waitFor();
    await page
      .getByRole('row', { name: /replay_request/ })
      .getByText('yes')
      .waitFor();
    await page.goto(`${stack.endpoints().operator}/signed-in?code=stolen&state=guessed`);
    await page.getByText('This sign-in was not begun in this tab').waitFor();
  });

  it('compares with the CRM, has somebody else approve the repair of what was deleted there, and shows it as repaired', async () => {
    const [eventId = ''] = await submit(1, 'reconcile');
    await untilAll([eventId], 'delivered');
    const desk = new Desk(stack.endpoints());
    const page = await as('operator', '/reconciliation/runs');
    // The CRM's `max_execution` and `search_lag`: only then a comparison counts on what it reads.
    await page.waitForTimeout(3_100);
    await compare(page, 1);
    const kept = await desk.leadOf(eventId);
    await desk.remove(kept.id);
    await compare(page, 2);
    expect(await axeInBothThemes(page)).toEqual([]);
    await goTo(page, `/reconciliation/discrepancies?event_id=${eventId}`);
    const found = page.getByRole('row', { name: /Deleted there/ });
    await found.getByRole('checkbox').check();
    expect(await axeInBothThemes(page)).toEqual([]);
    await page.getByRole('button', { name: 'Draft a repair …' }).click();
    await confirm(page, 'Draft the repair', 'Deleted by mistake');
    await page.waitForURL(/\/batches\/[0-9a-f-]{36}$/);
    await page.getByRole('button', { name: 'Dry run', exact: true }).click();
    await page.getByRole('button', { name: 'Dry run again' }).waitFor();
    await page.getByRole('button', { name: /^eligible/ }).waitFor();
    const { page: other } = await asStaff('lars.lead', new URL(page.url()).pathname);
    await other.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('heading', { level: 1 }).getByText('finished').waitFor();
    expect(await stack.sandbox.leads(eventId)).toHaveLength(1);
    await goTo(page, `/reconciliation/discrepancies?event_id=${eventId}&state=repaired`);
    await page.getByRole('row', { name: /Deleted there.*approved by lars\.lead/ }).waitFor();
    await goTo(page, `/leads/${eventId}`);
    await page.getByRole('heading', { name: 'At the destinations' }).waitFor();
    await page
      .getByText(/^.?repaired$/)
      .first()
      .waitFor();
    await goTo(page, '/reconciliation/balance');
    await page.getByText('Accepted, and where it is found').waitFor();
    expect(await axeInBothThemes(page)).toEqual([]);
  });

  it('has no serious finding of axe on screens with what has happened here', async () => {
    const page = await as('admin');
    const findings: string[] = [];
    for (const path of ['/', '/queues/all?view=list', '/batches', '/reconciliation/discrepancies?state=any']) {
      await goTo(page, path);
      await page.getByText('Loading …').first().waitFor({ state: 'detached' });
      findings.push(...(await axeFindings(page)).map((text) => `${path}: ${text}`));
    }
    expect(findings).toEqual([]);
  });
});
