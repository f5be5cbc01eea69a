import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser, openPage, type SeenPage, signIn } from './browser.js';
import { type FakeOperator, startFakeOperator } from './fake-operator/fake-operator.js';

/** The console of one test, at an operator that is not real. */
export interface FakeConsole {
  browser: Browser;
  fake: FakeOperator;
  seen: SeenPage;
  /** Signs in with a token and opens a path. */
  as(token: string, path?: string): Promise<Page>;
}

/** Gives each test of the surrounding `describe` an operator and a page of its own; a page on which anything went wrong fails its test. */
export function fakeConsole(): FakeConsole {
  const at = {
    async as(token: string, path = '/') {
      await at.seen.page.goto(at.fake.url + path);
      await signIn(at.seen.page, token);
      return at.seen.page;
    },
  } as FakeConsole;
  beforeAll(async () => {
    at.browser = await launchBrowser();
  });
  afterAll(async () => {
    await at.browser?.close();
  });
  beforeEach(async () => {
    at.fake = await startFakeOperator();
    at.seen = await openPage(at.browser);
  });
  afterEach(async () => {
    await at.seen.context.close();
    await at.fake.stop();
    expect(at.seen.wrongs).toEqual([]);
  });
  return at;
}
