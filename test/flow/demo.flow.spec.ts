import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { commonStack } from '../support/common-stack.js';
import { doctorCases } from './cases/doctor.js';
import { findLeadCases } from './cases/find-lead.js';
import { leadsCases } from './cases/leads.js';
import { metricsCases } from './cases/metrics.js';
import { siteWithManagers, testLeadCases } from './cases/test-lead.js';

/** The demo from its first lead on. In this order: the first groups look at a stack in which little has happened, the last one stops its parts. */
const folder = mkdtempSync(join(tmpdir(), 'demo-'));
const siteFile = join(folder, 'site.yaml');
const at = commonStack(() => {
  writeFileSync(siteFile, siteWithManagers());
  return { config: siteFile };
});
afterAll(() => rmSync(folder, { recursive: true }));

metricsCases(at);
testLeadCases(at);
findLeadCases(at);
leadsCases(at);
doctorCases(at, siteFile);
