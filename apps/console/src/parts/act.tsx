import { type ReactNode, useId } from 'react';
import { refusalFor, useMe } from '../api/me.js';
import type { Permission } from '../api/types.js';

interface ActProps {
  children: ReactNode;
  onPress?: () => void;
  /** What the person needs; of several any one will do. */
  needs: Permission | readonly Permission[];
  /** Why it cannot be done now, whoever asks. It is told before a missing permission. */
  refused?: string | undefined;
  tone?: 'primary' | 'danger' | 'stop';
  busy?: boolean;
  submit?: boolean;
}

/** A button that stays where it is when it cannot be used, can be reached by keyboard, and says why. */
export function Act({ children, onPress, needs, refused, tone, busy = false, submit = false }: ActProps) {
  const me = useMe().data;
  const whyId = useId();
  const missing = [needs].flat().map((permission) => refusalFor(me, permission));
  const why = refused ?? (missing.includes(undefined) ? undefined : missing[0]);
  const off = why !== undefined || busy;
  return (
    <span className="act">
      <button
        type={submit && !off ? 'submit' : 'button'}
        className={tone}
        aria-disabled={off || undefined}
        aria-describedby={why === undefined ? undefined : whyId}
        aria-busy={busy || undefined}
        onClick={() => {
          if (!off) onPress?.();
        }}
      >
        {children}
      </button>
      {why !== undefined && (
        <span id={whyId} className="act-why" role="tooltip">
          {why}
        </span>
      )}
    </span>
  );
}
