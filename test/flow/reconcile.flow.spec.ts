import { afterAll } from '@jest/globals';
import { commonStack } from '../support/common-stack.js';
import { writeCrmSite } from '../support/crm-site.js';
import { compareCases, comparedCrms } from './cases/compare.js';
import { repairCases, repairedCrms } from './cases/repair.js';

/** CRMs that are compared with what was delivered, and repaired: each group has CRMs of its own. */
const site = writeCrmSite({
  crms: { ...comparedCrms, ...repairedCrms },
  policies: { default: { attempts: 4, deadline: '4h', max_age: '7d' } },
});
const at = commonStack(() => ({ config: site.file }));
afterAll(() => site.remove());

compareCases(at);
repairCases(at);
