import { commonStack } from '../support/common-stack.js';
import { lagCases } from './cases/lag.js';
import { subjectsCases } from './cases/subjects.js';

/** What people ask for of their data, and then how far behind a consumer is. The first group needs people of whom there are no other leads. */
const at = commonStack();

subjectsCases(at);
lagCases(at);
