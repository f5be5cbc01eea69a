/** `long` is the size of `npm run test:long`; `ci` that of `npm test`. The code is the same, only counts differ. */
export type TestSize = 'ci' | 'long';

/** The size of this run, from LD_TEST_SIZE; anything but `long` is `ci`. */
export function testSize(): TestSize {
  return process.env.LD_TEST_SIZE === 'long' ? 'long' : 'ci';
}
