import { afterAll, beforeAll } from '@jest/globals';
import { closeMs, type OpenStack, openStack } from './stack.js';

/** A stack that several groups of cases of one spec file use one after the other. To start one for each would take longer than most of them. */
export interface CommonStack {
  /** In hooks and tests only: it is opened before the first of them. */
  readonly open: OpenStack;
}

/** Operator follows what the others do, and sweepers look round, every second: by default each waits five, and so would the tests. */
export const soon = { FOLLOW_MS: '1000', SWEEP_MS: '1000' };

/** Opens a stack before the cases of the file and closes it, looked through for personal data, behind the last. `options` is called first. */
export function commonStack(options: () => Parameters<typeof openStack>[0] = () => ({})): CommonStack {
  let open: OpenStack | undefined;
  beforeAll(async () => {
    const { env, ...others } = options() ?? {};
    open = await openStack({ ...others, env: { ...soon, ...env } });
  }, 180_000);
  afterAll(async () => {
    await open?.close();
  }, closeMs);
  return {
    get open() {
      if (open === undefined) throw new Error('The stack is not open: use it in hooks and tests');
      return open;
    },
  };
}
