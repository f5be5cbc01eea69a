// Installs Tryton and makes its template database before the tests that need them. Ends with 3 where Tryton cannot be had on this machine.
import { NoTryton, prepareTryton } from './prepare-tryton.js';

const startedAt = Date.now();
try {
  const { dir } = await prepareTryton(console.log);
  console.log(`Tryton is ready in ${dir} after ${Math.round((Date.now() - startedAt) / 1_000)} s`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = error instanceof NoTryton ? 3 : 1;
}
