import { type PersonRole, personRoles } from '#runtime';

/** What a person may do here; each action needs exactly one of them. */
export const permissions = ['list', 'reveal', 'replay_request', 'replay_approve', 'delete', 'configure'] as const;
export type Permission = (typeof permissions)[number];

export const roles = personRoles;
export type Role = PersonRole;

/** Who asks for a replay and who approves it are different roles, so that the usual site has two pairs of eyes without further rules. */
export const permissionsByRole: Readonly<Record<Role, readonly Permission[]>> = {
  viewer: ['list'],
  operator: ['list', 'reveal', 'replay_request', 'configure'],
  approver: ['list', 'replay_approve', 'delete'],
  admin: permissions,
};

/** Everything the roles allow together, and what was given beside them, in the order of `permissions`. */
export function permissionsOf(held: readonly Role[], more: readonly Permission[] = []): Permission[] {
  const allowed = new Set([...held.flatMap((role) => permissionsByRole[role]), ...more]);
  return permissions.filter((permission) => allowed.has(permission));
}

/** The roles that have the permission, for the words of a refusal. */
export function rolesWith(permission: Permission): Role[] {
  return roles.filter((role) => permissionsByRole[role].includes(permission));
}
