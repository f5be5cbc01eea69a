import { commonStack } from '../support/common-stack.js';
import { balanceCases } from './cases/balance.js';
import { whileHeldCases } from './cases/while-held.js';

/** What is held at destinations, and the books about it. The first group counts from nothing; the second one takes away what the services have. */
const at = commonStack();

whileHeldCases(at);
balanceCases(at);
