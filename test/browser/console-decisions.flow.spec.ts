import { describe, expect, it, jest } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { fakeConsole } from './fake-console.js';

jest.setTimeout(120_000);

describe('what people decide in the console, at an operator that is not real', () => {
  const at = fakeConsole();
  const { as } = at;
  const why = async (page: Page, button: Locator) => page.locator(`[id="${await button.getAttribute('aria-describedby')}"]`).textContent();
  const confirm = async (page: Page, button: string, reason = 'Seen in the test') => {
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill(reason);
    await dialog.getByRole('button', { name: button, exact: true }).click();
  };
  const lastAudit = () => at.fake.state.audit.at(-1);

  it('changes the limits of a batch that was checked, names who did, and lets nobody approve it who did', async () => {
    const batch = at.fake.state.draft('ada', { filter: {} });
    at.fake.state.command(batch.batch_id, 'dry-run', 'ada');
    const page = await as('admin-token-00001', `/batches/${batch.batch_id}`);
    await page.getByRole('button', { name: 'Change …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Its dry run is void by this').waitFor();
    await dialog.getByLabel('Items per second').fill('7');
    await dialog.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByText('changed by root').waitFor();
    await page.getByText(/7 per second/).waitFor();
    at.fake.state.command(batch.batch_id, 'dry-run', 'root');
    at.fake.changed('batches');
    await page.getByRole('button', { name: 'Dry run again' }).waitFor();
    expect(await why(page, page.getByRole('button', { name: 'Approve' }))).toContain('You changed it');
  });

  it('shows the refusal where a batch has begun while its limits were written, and then why they cannot be changed', async () => {
    const batch = at.fake.state.draft('ada', { filter: {} });
    const page = await as('operator-token-01', `/batches/${batch.batch_id}`);
    await page.getByRole('button', { name: 'Change …' }).click();
    at.fake.state.command(batch.batch_id, 'approve', 'root');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Items per second').fill('7');
    await dialog.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.getByText('The batch has begun').waitFor();
    await dialog.getByText('What has been sent cannot be changed any more').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { level: 1 }).getByText('canary').waitFor();
    expect(await why(page, page.getByRole('button', { name: 'Change …' }))).toContain('It has begun');
  });

  it('dismisses a group with a reason, and says of another that its deliveries decide', async () => {
    const page = await as('operator-token-01', '/queues/dead');
    await page.getByRole('row', { name: /Auth/ }).getByRole('button', { name: 'Dismiss …' }).click();
    await confirm(page, 'Dismiss', 'Their key was changed and the leads typed in');
    await page.getByText('3 letters were closed').waitFor();
    expect(lastAudit()).toMatchObject({ action: 'dead_letter.dismiss', person: 'olga' });
    at.fake.state.letters.splice(3, 57);
    at.fake.changed('dead-letters');
    await page.getByRole('row', { name: /Attempts exhausted.*\b3\b/ }).waitFor();
    await page
      .getByRole('row', { name: /Attempts exhausted/ })
      .getByRole('button', { name: 'Dismiss …' })
      .click();
    await confirm(page, 'Dismiss');
    await page.getByRole('dialog').getByText('3 are closed by what becomes of their delivery').waitFor();
  });

  it('drafts a batch of a whole group, by its schema and by what it lacks', async () => {
    const [first] = at.fake.state.letters;
    at.fake.state.letters = Array.from({ length: 1_200 }, (_, index) => ({ ...first, code: null, dead_letter_id: `d-${index}` }) as never);
    const page = await as('operator-token-01', '/queues/dead');
    await page
      .getByRole('row', { name: /Attempts exhausted/ })
      .getByRole('button', { name: 'Replay …' })
      .click();
    expect(await page.getByLabel('Only without a code').isChecked()).toBe(true);
    expect(await page.getByLabel('Code', { exact: true }).isDisabled()).toBe(true);
    expect(await page.getByLabel('Schema id', { exact: true }).inputValue()).toBe('4');
    expect(await page.getByLabel('Items at most').inputValue()).toBe('1200');
    await page.getByLabel('Reason').fill('The CRM is back');
    await page.getByRole('button', { name: 'Draft', exact: true }).click();
    await page.getByText('sandbox-crm · attempts exhausted · no code · schema 4').waitFor();
    expect(at.fake.state.batches[0]?.selection).toEqual({
      class: 'attempts_exhausted',
      destination: 'sandbox-crm',
      no_code: true,
      schema_id: 4,
    });
  });

  it('leads whoever may approve a correction to it: from the overview, the list and the lead', async () => {
    const correction = at.fake.state.corrections[0];
    const path = `/corrections/${correction?.correction_id}`;
    const page = await as('approver-token-01', '/');
    const waiting = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Corrections that wait for approval' }) });
    await waiting.getByText('Misspelt on the form').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('c');
    await page.getByLabel('State').selectOption('draft');
    await page.waitForURL(/state=draft/);
    await page
      .getByRole('cell', { name: /at sandbox-crm/ })
      .getByRole('link')
      .click();
    const onLead = page.getByRole('complementary', { name: 'About this lead' }).locator(`a[href="${path}"]`);
    await onLead.click();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('It is approved already').waitFor({ state: 'attached' });
    expect(lastAudit()).toMatchObject({ action: 'correction.approve', person: 'ada', subject: { hash: correction?.hash } });
  });

  it('starts a run over a window and stops it', async () => {
    const page = await as('operator-token-01', '/reconciliation/runs');
    await page.getByRole('button', { name: 'Start a run …' }).click();
    await page.getByLabel('Submitted').selectOption('own');
    await confirm(page, 'Start', 'After their outage');
    await page.getByRole('dialog').getByText('The window is not whole').waitFor();
    await page.getByLabel('From', { exact: true }).fill('2026-11-30T08:00');
    await confirm(page, 'Start', 'After their outage');
    await page.getByText('200 leads').waitFor();
    expect(lastAudit()).toMatchObject({
      action: 'reconciliation.run',
      subject: { destination: 'sandbox-crm', from: '2026-11-30T08:00:00.000Z', reason: 'After their outage' },
    });
    await page
      .getByRole('progressbar', { name: /Progress of run/ })
      .first()
      .waitFor();
    const row = page.getByRole('row', { name: /running/ });
    await row.getByRole('button', { name: 'Stop …' }).click();
    await confirm(page, 'Stop it', 'Enough was seen');
    await page.getByRole('row', { name: /stopped/ }).waitFor();
  });

  it('drafts a repair of what was ticked by keyboard, and says why of what cannot be repaired', async () => {
    const page = await as('operator-token-01', '/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByText('Ask who changed it there').waitFor();
    const draft = page.getByRole('button', { name: 'Draft a repair …' });
    await page.getByRole('checkbox', { name: /Says something else/ }).check();
    expect(await why(page, draft)).toContain('A person decides about it at the destination');
    await page.getByRole('checkbox', { name: /Says something else/ }).uncheck();
    for (let row = 0; row < 2; row += 1) {
      await page.keyboard.press('k');
      await page.keyboard.press('x');
    }
    await page.getByText('2 ticked').waitFor();
    expect(await why(page, page.getByRole('button', { name: 'Accept as it is …' }))).toContain('permission replay_approve');
    await draft.click();
    await confirm(page, 'Draft the repair', 'They were deleted by mistake');
    await page.waitForURL(/\/batches\/[0-9a-f-]{36}$/);
    await page.getByText('repair of 2 discrepancies').waitFor();
    await page.goBack();
    await page.getByText('Ask who changed it there').waitFor();
    await page.getByLabel('State').selectOption('repairing');
    await page
      .getByRole('link', { name: /^batch / })
      .first()
      .waitFor();
    expect(new URL(page.url()).searchParams.get('state')).toBe('repairing');
  });

  it('accepts with a reason what is right at the destination', async () => {
    const page = await as('approver-token-01', '/reconciliation/discrepancies?class=content_conflict');
    await page.getByText('Evidence').first().click();
    await page.getByText('search lag ms').waitFor();
    await page.getByRole('checkbox', { name: /^Tick Says something else/ }).check();
    await page.getByRole('button', { name: 'Accept as it is …' }).click();
    await confirm(page, 'Accept', 'The customer told them the new number');
    await page.getByText('Nothing differs that anybody has to decide on').waitFor();
    expect(lastAudit()).toMatchObject({ action: 'discrepancy.accept', subject: { reason: 'The customer told them the new number' } });
  });

  it('marks the days that do not add up, saves them, and keeps the rest of the console alive while reconciler is away', async () => {
    const page = await as('viewer-token-0001', '/reconciliation/balance');
    const bad = page.getByRole('row', { name: /2026-11-29.*it does not/ });
    expect(await bad.first().getAttribute('class')).toBe('bad');
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export as CSV' }).click()]);
    expect(file.suggestedFilename()).toBe('balances.csv');
    at.fake.state.reconciliation.gone = true;
    await page.goto(`${at.fake.url}/reconciliation/discrepancies`);
    await page.getByText('reconciler does not answer').waitFor();
    await page.goto(at.fake.url);
    await page.getByText('Every delivery is accounted for').waitFor();
  });
});
