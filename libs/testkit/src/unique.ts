import { randomBytes } from 'node:crypto';

/** A name that no other test uses: topics, groups and databases of the shared infrastructure outlive the test that made them. */
export const uniqueName = (prefix: string): string => `${prefix}-${Date.now().toString(36)}${randomBytes(3).toString('hex')}`;
