import type { Person } from '../people/person.js';

/** Whatever a person may see of a batch, its items are judged by what there is. */
export const everybody: Person = { subject: 'operator', name: 'operator', roles: [], permissions: [], organizations: '*' };
