import type { Permission, Role } from './permissions.js';

/** Who asks. Two tokens of one subject are one person. */
export interface Person {
  /** Stable id of the person; the only thing that says whether two people are different. */
  subject: string;
  name: string;
  roles: readonly Role[];
  permissions: readonly Permission[];
  /** Organizations whose leads the person may see; `*`: all. */
  organizations: '*' | readonly string[];
  /** The service that passed on the person's word, with a name that nobody has proved. Absent: their own request. */
  caller?: string;
}

/** Whether the person may see what belongs to the organization. What belongs to none (a record that could not be read) only those who see all. */
export function mayRead({ organizations }: Pick<Person, 'organizations'>, organization: string | null | undefined): boolean {
  if (organizations === '*') return true;
  return organization !== null && organization !== undefined && organizations.includes(organization);
}

/** Value of the parameter that `inOrganizations` names: NULL stands for all. */
export function organizationsValue({ organizations }: Pick<Person, 'organizations'>): readonly string[] | null {
  return organizations === '*' ? null : organizations;
}

/**
 * SQL condition that leaves out rows of organizations which the person may not see. `column`: where the row names its organization;
 * `parameter`: number of the parameter that holds `organizationsValue(person)`.
 */
export function inOrganizations(column: string, parameter: number): string {
  return `($${parameter}::text[] IS NULL OR ${column} = ANY ($${parameter}::text[]))`;
}
