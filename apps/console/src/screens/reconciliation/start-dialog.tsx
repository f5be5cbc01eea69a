import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get, post } from '../../api/client.js';
import type { DestinationList, RunRequest } from '../../api/types.js';
import { Choice, Field } from '../../parts/field.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { useChange } from '../../parts/use-change.js';
import { requestOf, windows } from './run-window.js';

const outcomes = ['', 'delivered', 'waiting', 'held', 'uncertain', 'dead', 'expired', 'discarded'];

/** Starts one run. It only reads, so that nobody has to approve it. */
export function StartDialog({ destination, onClose }: { destination: string | undefined; onClose: () => void }) {
  const [window, setWindow] = useState('24h');
  const { data } = useQuery({ queryKey: ['destinations'], queryFn: ({ signal }) => get<DestinationList>('destinations', {}, signal) });
  const names = (data?.items ?? []).filter(({ service, configured }) => service === 'crm-writer' && configured);
  const { mutateAsync } = useChange({
    act: (request: RunRequest) => post<{ run_id: string }>('reconciliation/runs', request),
    done: 'Started. It goes below the rate of live traffic, and changes nothing.',
    stale: ['reconciliation', 'overview', 'audit'],
    quiet: true,
  });
  return (
    <ReasonDialog
      title="Start a run"
      about="Compares what we delivered with what the destination holds. It changes nothing there, and can be stopped."
      action="Start"
      onClose={onClose}
      onDo={(reason, form) => mutateAsync(requestOf(form, reason, new Date()))}
    >
      <div className="fields">
        <Choice
          key={names.length}
          label="Destination"
          name="destination"
          value={destination}
          options={names.map(({ destination: name }) => [name, name] as const)}
        />
        <Choice label="Submitted" name="window" value={window} options={windows} onChange={setWindow} />
      </div>
      {window === 'own' && (
        <div className="fields">
          <Field label="From" name="from" type="datetime-local" required help="In your own time zone" />
          <Field label="To" name="to" type="datetime-local" help="Empty: now" />
        </div>
      )}
      <div className="fields">
        <Field label="Form" name="form" maxLength={200} placeholder="any" />
        <Field label="Campaign" name="campaign" maxLength={200} placeholder="any" />
        <Choice
          label="Outcome"
          name="outcome"
          value=""
          options={outcomes.map((outcome) => [outcome, outcome === '' ? 'any' : outcome] as const)}
        />
      </div>
    </ReasonDialog>
  );
}
