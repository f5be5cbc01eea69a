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
  const [open, setOpen] = useState<keyof typeof words>();
  const path = `destinations/${encodeURIComponent(destination)}`;
  const act = useChange({
    act: ({ what, reason }: { what: keyof typeof words; reason: string }) =>
      post(`${path}/${what}`, { reason, service, since: hold?.since ?? null }),
    done: `${destination}: done`,
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
      <Act needs="configure" refused={hold === undefined ? undefined : 'It is held already'} onPress={() => setOpen('hold')}>
        Hold …
      </Act>
      <Act
        needs="configure"
        refused={hold === undefined && mode === 'flowing' ? 'Nothing holds it' : undefined}
        onPress={() => setOpen('release')}
      >
        Release …
      </Act>
      {open !== undefined && (
        <ReasonDialog
          title={`${words[open].title} ${destination}`}
          about={words[open].about}
          action={words[open].title}
          onClose={() => setOpen(undefined)}
          onDo={(reason) => act.mutateAsync({ what: open, reason })}
        />
      )}
    </div>
  );
}
