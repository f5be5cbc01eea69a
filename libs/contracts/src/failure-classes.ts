/** Why a delivery or a submission ended without its effect. Each class has an owner who acts on it. */
export const failureClasses = [
  'decode',
  'invalid',
  'unknown_source',
  'conflict',
  'routing',
  'unknown_owner',
  'permanent',
  'attempts_exhausted',
  'deadline_exceeded',
  'auth',
  'protected_field',
  'unverified_write',
  'oversize',
] as const;
export type FailureClass = (typeof failureClasses)[number];
