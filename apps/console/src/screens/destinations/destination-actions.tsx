import { useState } from 'react';
import { useNavigate } from 'react-router';
import { post } from '../../api/client.js';
import type { DestinationState } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { useChange } from '../../parts/use-change.js';

const stale = ['destinations', 'overview', 'dead-letters', 'audit'];

const words = {
  hold: {
    title: 'Hold',
    about:
      'Nothing more is sent there until somebody releases it. Leads go on being accepted and wait; other destinations are not touched.',
    done: 'is held',
  },
  release: {
    title: 'Release',
    about: 'One call goes first. When it succeeds, what has waited is drained at a growing rate.',
    done: 'was released',
  },
} as const;

export function DestinationActions({ state: { destination, service, mode, hold, test: testing } }: { state: DestinationState }) {
  const navigate = useNavigate();
  // With the hold that the person saw when it opened: what somebody else does meanwhile is refused, not undone unseen.
  const [open, setOpen] = useState<{ what: keyof typeof words; since: string | null }>();
  const ask = (what: keyof typeof words) => setOpen({ what, since: hold?.since ?? null });
  const path = `destinations/${encodeURIComponent(destination)}`;
  const act = useChange({
    act: async ({ what, since, reason }: { what: keyof typeof words; since: string | null; reason: string }) => {
      await post(`${path}/${what}`, { reason, service, since });
      return what;
    },
    done: (what) => `${destination} ${words[what].done}`,
    stale,
    quiet: true,
  });
  const test = useChange({
    act: async () => {
      const { event_id } = await post<{ event_id: string }>(`${path}/test`);
      void navigate(`/leads/${event_id}`);
    },
    done: 'A test lead is on its way. It reaches no manager.',
    stale,
  });
  return (
    <div className="row">
      <Act needs="configure" refused={testing.possible ? undefined : testing.why_not} busy={test.isPending} onPress={() => test.mutate()}>
        Send a test lead
      </Act>
      <Act needs="configure" refused={hold === undefined ? undefined : 'It is held already'} onPress={() => ask('hold')}>
        Hold …
      </Act>
      <Act
        needs="configure"
        refused={hold === undefined && mode === 'flowing' ? 'Nothing holds it' : undefined}
        onPress={() => ask('release')}
      >
        Release …
      </Act>
      {open !== undefined && (
        <ReasonDialog
          title={`${words[open.what].title} ${destination}`}
          about={words[open.what].about}
          action={words[open.what].title}
          onClose={() => setOpen(undefined)}
          onDo={(reason) => act.mutateAsync({ ...open, reason })}
        />
      )}
    </div>
  );
}
