import { beforeAll, describe, expect, it } from '@jest/globals';
import { projectRoot } from '#testkit';
import { exposedNames } from '../../../scripts/alerts/alert-faults.js';
import { readOps } from '../../../scripts/alerts/ops-files.js';
import type { CommonStack } from '../../support/common-stack.js';
import { eventually } from '../../support/eventually.js';
import { pageFaults, sampled, shownAfter } from '../../support/scrape.js';
import type { OpenStack } from '../../support/stack.js';
import { leadBody } from '../../support/traffic.js';

export function metricsCases(at: CommonStack): void {
  describe('what Prometheus finds', () => {
    /** What Prometheus finds at the services of a new instance that has delivered one lead. */
    let stack: OpenStack;

    beforeAll(() => {
      stack = at.open;
    });

    const asked = exposedNames(readOps(projectRoot()).rules);

    async function pages(): Promise<Record<string, string>> {
      const read = async (url: string): Promise<string> => (await fetch(url)).text();
      const entries = Object.entries(stack.endpoints().metrics).map(async ([app, url]) => [app, await read(url)] as const);
      return Object.fromEntries(await Promise.all(entries));
    }

    it('every metric that an alert asks for has a sample, but for what has to happen first', async () => {
      expect(Object.keys(shownAfter).filter((name) => !asked.includes(name))).toEqual([]);
      expect((await stack.intake.post(leadBody('scraped', 4))).status).toBe(202);
      await eventually(async () => {
        const shown = Object.values(await pages()).flatMap(sampled);
        expect(asked.filter((name) => !shown.includes(name) && shownAfter[name] === undefined)).toEqual([]);
        const { body } = await stack.intake.get('/v1/leads?source_event_id=scraped');
        const states = [body.deliveries, body.notifications].flatMap((all) => (all as { state: string }[]).map(({ state }) => state));
        expect(states).toEqual(['delivered', 'delivered', 'succeeded']);
      }, 60_000);
    }, 90_000);

    it('the page of every service is as Prometheus wants it', async () => {
      const faults = Object.entries(await pages()).map(([app, page]) => ({ app, found: pageFaults(page) }));
      expect(faults.length).toBeGreaterThan(5);
      // On a machine of one's own there may be no promtool; where a change is decided about there is.
      const unread = process.env.CI === undefined ? [] : faults.filter(({ found }) => found === undefined);
      expect([...unread, ...faults.filter(({ found }) => found !== undefined && found !== '')]).toEqual([]);
    }, 30_000);
  });
}
