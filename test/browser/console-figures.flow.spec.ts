import { describe, expect, it, jest } from '@jest/globals';
import { fakeConsole } from './fake-console.js';

jest.setTimeout(120_000);

/** Of each canvas of the page, whether anything is drawn on it. */
const drawn = `[...document.querySelectorAll('figure canvas')].map((canvas) =>
  canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((part) => part !== 0))`;

describe('figures of the console, at an operator that is not real', () => {
  const at = fakeConsole();
  const { as } = at;

  it('draws backlog, age and time until written as lines, with the figures beside each', async () => {
    const page = await as('viewer-token-0001', '/');
    const figures = page.getByRole('region', { name: 'Trends' }).getByRole('figure');
    await figures.nth(2).locator('canvas').waitFor();
    expect(await figures.getByRole('heading').allTextContents()).toEqual(['Backlog', 'Age of the oldest', 'Time until written']);
    expect(await page.evaluate(drawn)).toEqual([true, true, true]);
    for (const [index, points] of [12, 12, 6].entries()) {
      const figure = figures.nth(index);
      expect(await figure.locator('canvas').count()).toBe(1);
      await figure.getByText(/: the figures$/).click();
      expect(await figure.getByRole('row').count()).toBe(points + 1);
    }
  });

  it('says instead what would be drawn, while there are too few points for a line', async () => {
    const { fake } = at;
    const overview = fake.state.overview();
    fake.state.overview = () => ({ ...overview, backlog: overview.backlog.slice(0, 2), time_to_write: [] });
    const page = await as('viewer-token-0001', '/');
    await page.getByText('Points come in every minute').waitFor();
    expect(await page.locator('canvas').count()).toBe(0);
  });

  it('holds each part of a call to its own limit, and shows how a backlog drains', async () => {
    const page = await as('viewer-token-0001', '/destinations');
    const crm = page.locator('#sandbox-crm');
    const part = (name: string) => crm.getByRole('row', { name: new RegExp(`^${name}`) });
    await part('First byte').getByText('close to the timeout').waitFor();
    expect(await part('First byte').getByRole('cell').last().textContent()).toBe('2 s');
    expect(await part('Total').getByText('close to the timeout').count()).toBe(0);
    await crm.getByText('500 ms until the request is out').waitFor();
    const bar = crm.getByRole('progressbar', { name: 'Drain of what waited' });
    expect(await bar.getAttribute('aria-valuenow')).toBe('70');
    await crm.getByText(/^Draining: 12 left at 4 per second/).waitFor();
  });

  it('shows how much of a batch has ended as a bar', async () => {
    const batch = at.fake.state.draft('olga', { filter: {} });
    at.fake.state.command(batch.batch_id, 'approve', 'ada');
    const page = await as('viewer-token-0001', `/batches/${batch.batch_id}`);
    const bar = page.getByRole('progressbar', { name: /Share of the approved/ });
    await page.getByText('10 of 55 sent').waitFor();
    expect(await bar.getAttribute('aria-valuenow')).toBe('11');
    at.fake.state.finish(batch.batch_id);
    at.fake.changed('batches');
    await page.getByText('55 of 55 sent').waitFor();
    expect(await bar.getAttribute('aria-valuenow')).toBe('100');
  });
});
