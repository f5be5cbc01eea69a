import { useQuery } from '@tanstack/react-query';
import { get } from './client.js';
import type { Me, Permission } from './types.js';

const rolesByPermission: Readonly<Record<Permission, string>> = {
  list: 'viewer, operator, approver and admin',
  reveal: 'operator and admin',
  replay_request: 'operator and admin',
  replay_approve: 'approver and admin',
  delete: 'approver and admin',
  configure: 'operator and admin',
};

/** Who is signed in. Kept for the session: what a token may do does not change under it. */
export function useMe() {
  return useQuery({ queryKey: ['me'], queryFn: ({ signal }) => get<Me>('me', {}, signal), staleTime: 300_000 });
}

/** Why the person may not do it; undefined when they may. */
export function refusalFor(me: Me | undefined, permission: Permission): string | undefined {
  if (me === undefined) return 'Not known yet who you are';
  if (me.permissions.includes(permission)) return undefined;
  return me.refused?.[permission] ?? `This needs the permission ${permission}; the roles ${rolesByPermission[permission]} have it.`;
}
