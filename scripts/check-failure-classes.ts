// Fails when a failure class lacks an owner, a disposition, one of its deadlines, a runbook or a row in the failure tour.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { failureClasses, failurePolicies } from '#contracts';
import { rowIds, rowOfClass } from '../test/tour/row-ids.js';
import { classFaults } from './failure-classes.js';

const root = process.cwd();

function page(path: string): string | undefined {
  const file = join(root, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

const faults = classFaults({ classes: failureClasses, policies: failurePolicies, rows: rowOfClass, rowIds, page });
for (const { failureClass, problem } of faults) console.error(`${failureClass} ${problem}`);
console.log(`${failureClasses.length} failure classes, ${faults.length} faults`);
if (faults.length > 0) process.exitCode = 1;
