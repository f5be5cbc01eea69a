import { describe, expect, it, jest } from '@jest/globals';
import { axeInBothThemes, goTo, openPage, signIn } from './browser.js';
import { fakeConsole } from './fake-console.js';
import { leadId } from './fake-operator/state.js';

jest.setTimeout(120_000);

describe('the console, at an operator that is not real', () => {
  const at = fakeConsole();
  const { as } = at;

  it('has no serious finding of axe on any screen in either theme', async () => {
    at.fake.state.draft('olga', { filter: { destination: 'sandbox-crm' } });
    const batchId = String(at.fake.state.batches[0]?.batch_id);
    at.fake.state.command(batchId, 'dry-run', 'olga');
    at.fake.state.record('olga', 'batch.draft', { batch_id: batchId });
    const screens = [
      ['/', 'Overview'],
      ['/search', 'Search'],
      [`/leads/${leadId}`, 'Lead'],
      ['/leads/019a2b3c-0000-7000-8000-000000000000', 'There is nothing here under this id'],
      ['/queues/dead', 'Attempts exhausted'],
      // Three rows of sixty: the others are the same.
      ['/queues/dead?view=list&class=auth', '3, and no more'],
      ['/queues/all?view=list&class=auth', 'Everything that is open'],
      // Never as if all were well while leads lie on the topic of one that is held.
      ['/queues/held', '12 leads wait on its topic'],
      ['/queues/held?view=list', 'No lead that was taken up is held'],
      ['/queues/expired', 'Nothing is expired'],
      ['/batches', 'Batches'],
      ['/batches/new', 'Draft a batch'],
      [`/batches/${batchId}`, 'already at destination'],
      ['/corrections', 'Misspelt on the form'],
      ['/corrections?state=failed', 'No correction is like that'],
      [`/corrections/${at.fake.state.corrections[0]?.correction_id}`, 'is changed there'],
      ['/destinations', 'Destinations'],
      ['/reconciliation/discrepancies', 'the lead is made anew'],
      ['/reconciliation/discrepancies?state=gone', 'Nothing is like that'],
      ['/reconciliation/runs', '1,422 leads'],
      ['/reconciliation/balance', 'it does not'],
      ['/erasures', 'Erasures'],
      [`/erasures/${at.fake.state.erasure.erasure_id}`, 'Places here'],
      ['/audit', 'batch.draft'],
      ['/me', 'What you may do'],
    ] as const;
    const { page } = at.seen;
    await page.goto(at.fake.url);
    const findings = (await axeInBothThemes(page)).map((text) => `sign-in: ${text}`);
    await signIn(page, 'viewer-token-0001');
    for (const [path, text] of screens) {
      await goTo(page, path);
      await page.getByText(text).first().waitFor();
      findings.push(...(await axeInBothThemes(page)).map((finding) => `${path}: ${finding}`));
    }
    expect(findings).toEqual([]);
  });

  it('finds by an id at once, lists several, teaches when there is none, and never has what was typed in an address', async () => {
    const page = await as('viewer-token-0001');
    await page.keyboard.press('/');
    await page.keyboard.type('mia@example.test');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: '019a2b3c…c0de' }).waitFor();
    await page.keyboard.press('Escape');
    const box = page.getByRole('searchbox');
    await box.fill('nobody@example.test');
    await box.press('Enter');
    await page.getByText('No lead was found').waitFor();
    await box.fill(leadId);
    await box.press('Enter');
    await page.getByText('the CRM has not confirmed its contact').waitFor();
    expect(page.url()).toBe(`${at.fake.url}/leads/${leadId}`);
    expect(at.fake.asked.filter((line) => /example|%40|@/.test(line))).toEqual([]);
    expect(await page.evaluate('JSON.stringify([localStorage, Object.keys(sessionStorage), history.state])')).not.toMatch(/example/);
  });

  it('takes no address and no number of a person as a filter, and says where to search for one', async () => {
    const page = await as('viewer-token-0001', '/queues/dead?view=list');
    for (const [path, box, submit] of [
      ['/queues/dead?view=list', 'Assignee', 'Enter'],
      ['/reconciliation/discrepancies', 'Owner', 'Tab'],
      ['/audit', 'About', 'Enter'],
    ] as const) {
      await goTo(page, path);
      for (const typed of ['mia@example.test', '+1 202 555 0101']) {
        await page.getByLabel(box, { exact: true }).fill(typed);
        await page.keyboard.press(submit);
        await page.getByRole('alert').getByText('use the search box').waitFor();
        await page.getByLabel(box, { exact: true }).fill('ada');
        await page.keyboard.press(submit);
        await page.getByRole('alert').waitFor({ state: 'detached' });
        await page.waitForURL(/=ada/);
      }
    }
    expect(at.fake.asked.filter((line) => /example|%40|@|202|555/.test(line))).toEqual([]);
  });

  it('shows of a call what they named it, for their support', async () => {
    const page = await as('viewer-token-0001', `/leads/${leadId}`);
    const call = page.getByRole('listitem').filter({ hasText: 'Contact sent' }).filter({ hasNotText: 'again' });
    await call.getByText('their request req-77').waitFor();
  });

  it('reveals with a reason for a time, shows markup as text, and forgets it when the time is over', async () => {
    at.fake.state.revealForMs = 4_000;
    const page = await as('operator-token-01', `/leads/${leadId}`);
    await page.getByRole('button', { name: 'Reveal' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Reveal for 5 minutes' }).click();
    await dialog.getByText('Say in a few words why').waitFor();
    await dialog.getByLabel('Reason').fill('The customer called');
    await dialog.getByRole('button', { name: 'Reveal for 5 minutes' }).click();
    await page.getByText('mia@example.test').waitFor();
    expect(await page.getByText('<script>').count()).toBeGreaterThan(0);
    expect(await page.evaluate('globalThis.broken')).toBeUndefined();
    await page.getByText('mia@example.test').waitFor({ state: 'detached' });
    expect(at.fake.state.audit.map(({ action }) => action)).toEqual(['lead.reveal']);
  });

  it('notes with a reason that the person withdrew consent', async () => {
    const page = await as('operator-token-01', `/leads/${leadId}`);
    await page.getByRole('button', { name: 'Consent withdrawn …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('They wrote a letter');
    await dialog.getByRole('button', { name: 'Note the withdrawal' }).click();
    await page.getByText('The withdrawal was noted').waitFor();
    const subject = { event_id: leadId, given: false, reason: 'They wrote a letter' };
    expect(at.fake.state.audit).toMatchObject([{ action: 'consent.withdraw', subject }]);
  });

  it('keeps what a person may not do in sight, reachable, and says why', async () => {
    const page = await as('viewer-token-0001', `/leads/${leadId}`);
    const reveal = page.getByRole('button', { name: 'Reveal' });
    await reveal.focus();
    expect(await reveal.getAttribute('aria-disabled')).toBe('true');
    const why = page.locator(`[id="${await reveal.getAttribute('aria-describedby')}"]`);
    await why.waitFor({ state: 'visible' });
    expect(await why.textContent()).toContain('permission reveal');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(at.fake.asked.filter((line) => line.startsWith('POST'))).toEqual([]);
  });

  it('takes a group to a batch that its author cannot approve and somebody else can, live', async () => {
    const page = await as('operator-token-01', '/queues/dead');
    await page
      .getByRole('row', { name: /Attempts exhausted/ })
      .getByRole('button', { name: 'Replay …' })
      .click();
    await page.getByLabel('Reason').fill('The CRM is back');
    await page.getByRole('button', { name: 'Draft', exact: true }).click();
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByRole('button', { name: /already at destination/ }).waitFor();
    const approve = page.getByRole('button', { name: 'Approve' });
    expect(await page.locator(`[id="${await approve.getAttribute('aria-describedby')}"]`).textContent()).toContain('You drafted it');
    const other = await openPage(at.browser);
    await other.page.goto(page.url());
    await signIn(other.page, 'approver-token-01');
    await other.page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('6 of 10 found at the destination').waitFor();
    at.fake.state.finish(page.url().split('/').at(-1) ?? '');
    at.fake.changed('batches');
    await page.getByText('55 of 55 sent').waitFor();
    expect(other.wrongs).toEqual([]);
    await other.context.close();
  });

  it('decides on a group only while it is shown whole, and on what was shown when the button was pressed', async () => {
    const page = await as('operator-token-01', '/queues/dead?owner=integration');
    const row = page.getByRole('row', { name: /Attempts exhausted/ });
    for (const name of ['Replay …', 'Decide …']) {
      const button = row.getByRole('button', { name });
      expect(await page.locator(`[id="${await button.getAttribute('aria-describedby')}"]`).textContent()).toContain(
        'Clear the filter owner',
      );
    }
    await page.goto(`${at.fake.url}/queues/dead`);
    await row.getByRole('button', { name: 'Decide …' }).click();
    const dialog = page.getByRole('dialog');
    const title = await dialog.getByRole('heading').textContent();
    const shownAsOf = at.fake.state.groupsAsOf;
    at.fake.state.letters.splice(0, 3);
    at.fake.changed('dead-letters');
    await page.getByRole('row', { name: /Attempts exhausted.*57/ }).waitFor();
    expect(await dialog.getByRole('heading').textContent()).toBe(title);
    await dialog.getByLabel('Reason').fill('The CRM is back');
    await dialog.getByRole('button', { name: 'Record the decision' }).click();
    await page.getByText('Recorded for one letter').waitFor();
    expect(at.fake.state.audit.at(-1)?.subject).toMatchObject({ group: { as_of: shownAsOf } });
    expect(at.fake.state.groupsAsOf).not.toBe(shownAsOf);
  });

  it('stops a batch with one click, and saves its items', async () => {
    const batch = at.fake.state.draft('ada', { filter: {} });
    at.fake.state.command(batch.batch_id, 'approve', 'root');
    const page = await as('operator-token-01', `/batches/${batch.batch_id}`);
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export as CSV' }).click()]);
    expect(file.suggestedFilename()).toBe(`batch-${batch.batch_id}.csv`);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('stopped by olga').waitFor();
    expect(batch.state).toBe('stopped');
  });

  it('is used by keyboard: places, rows, ticks, dialogs and help', async () => {
    const page = await as('operator-token-01');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('q');
    await page.getByRole('link', { name: 'Attempts exhausted' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /019a2b3c…c0de/ }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByText('1 ticked').waitFor();
    await page.getByRole('button', { name: 'Note …' }).click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Note …');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  });

  it('keeps filter and page in the address, and goes back through the pages', async () => {
    const page = await as('viewer-token-0001', '/queues/dead?view=list&destination=sandbox-crm');
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.waitForURL(/after=/);
    await page.getByText('10 on this page').waitFor();
    await page.goBack();
    await page.getByText('50 on this page').waitFor();
    expect(new URL(page.url()).searchParams.get('destination')).toBe('sandbox-crm');
  });

  it('says when it is live, and asks by itself when it is not', async () => {
    const page = await as('operator-token-01', '/batches');
    await page.getByText('Live', { exact: true }).waitFor();
    at.fake.cutLive();
    await page.getByText('Asking every 5 s').waitFor();
    await page.getByText('No batches yet').waitFor();
    const { batch_id: id } = at.fake.state.draft('ada', { filter: {} });
    await page.getByRole('link', { name: `${id.slice(0, 8)}…${id.slice(-4)}` }).waitFor();
  });

  it('holds and releases a destination with a reason', async () => {
    const page = await as('operator-token-01', '/destinations');
    const crm = page.locator('#sandbox-crm');
    await crm.getByRole('button', { name: 'Hold …' }).click();
    await page.getByLabel('Reason').fill('Their maintenance');
    await page.getByRole('dialog').getByRole('button', { name: 'Hold', exact: true }).click();
    await crm.getByText('Their maintenance').waitFor();
    await crm.getByRole('button', { name: 'Release …' }).click();
    await page.getByLabel('Reason').fill('They are back');
    await page.getByRole('dialog').getByRole('button', { name: 'Release', exact: true }).click();
    await crm.getByText('Their maintenance').waitFor({ state: 'detached' });
  });

  it('releases no hold but the one that was seen when the dialog opened', async () => {
    const page = await as('operator-token-01', '/destinations');
    const crm = page.locator('#sandbox-crm');
    const hold = (reason: string) =>
      fetch(`${at.fake.url}/v1/destinations/sandbox-crm/hold`, {
        method: 'POST',
        headers: { authorization: 'Bearer operator-token-01', 'content-type': 'application/json' },
        body: JSON.stringify({ reason }),
      });
    await hold('Their maintenance');
    await crm.getByText('Their maintenance').waitFor();
    await crm.getByRole('button', { name: 'Release …' }).click();
    await hold('They lose what we send');
    await crm.getByText('They lose what we send').waitFor();
    await page.getByLabel('Reason').fill('They are back');
    await page.getByRole('dialog').getByRole('button', { name: 'Release', exact: true }).click();
    await page.getByRole('dialog').getByText('Somebody has held or released it since you looked').waitFor();
    await crm.getByText('They lose what we send').waitFor();
  });

  it('ends the session when the token is not good any more, and says so', async () => {
    await at.seen.page.goto(at.fake.url);
    await at.seen.page.getByLabel('Token').fill('no-such-token-000');
    await at.seen.page.getByRole('button', { name: 'Use this token' }).click();
    await at.seen.page.getByText('The token is missing or unknown').waitFor();
    expect(await at.seen.page.evaluate('sessionStorage.length')).toBe(0);
  });
});
