import { jest } from '@jest/globals';

// Tests on real servers and their hooks, on a machine that may be busy: a file or a test may set its own.
jest.setTimeout(60_000);
