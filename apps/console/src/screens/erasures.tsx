import { useState } from 'react';
import { useNavigate } from 'react-router';
import { post } from '../api/client.js';
import type { Erasure } from '../api/types.js';
import { Act } from '../parts/act.js';
import { Choice, Field } from '../parts/field.js';
import { Failure, Panel, ScreenHead, Teach } from '../parts/small.js';
import { useChange } from '../parts/use-change.js';

/** Begins an erasure, or opens one by its id. */
export function ErasuresScreen() {
  return (
    <div className="screen">
      <ScreenHead
        title="Erasures"
        about="Removes what a person sent from every place, and proves it: each place is counted before and after. One person drafts, another approves."
      />
      <div className="halves">
        <DraftForm />
        <OpenForm />
      </div>
      <Panel>
        <Teach title="What is erased, and what stays">
          <p>
            The sealed payload, rejected originals, records of dead letters and the keyed hashes that search uses are erased. What lies at a
            destination is listed as a task with its reference there, to be deleted by whoever looks after it.
          </p>
          <p className="quiet">Counts, references and the audit stay: they tell that something was there, not what it said.</p>
        </Teach>
      </Panel>
    </div>
  );
}

const kinds = [
  ['email', 'e-mail address'],
  ['phone', 'phone number'],
  ['event_id', 'event id of one lead'],
] as const;

function DraftForm() {
  const navigate = useNavigate();
  const draft = useChange({
    act: (body: Record<string, string>) => post<Erasure>('erasures', body),
    done: 'Drafted. Nothing is erased yet.',
    stale: ['erasures', 'audit'],
    quiet: true,
  });
  const submit = async (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim();
    const { erasure_id } = await draft.mutateAsync({ [text('kind')]: text('who'), reason: text('reason') });
    void navigate(`/erasures/${erasure_id}`);
  };
  return (
    <Panel title="Draft an erasure">
      <form
        className="inside stack"
        onSubmit={(event) => {
          event.preventDefault();
          submit(new FormData(event.currentTarget)).catch(() => undefined);
        }}
      >
        <Choice label="The person is known by" name="kind" options={kinds} />
        <Field
          label="Value"
          name="who"
          required
          maxLength={320}
          spellCheck={false}
          help="Goes out in the request's body; it stands in no address and no log."
        />
        <Field label="Reason" name="reason" required maxLength={500} help="For example the number of the request. No personal data." />
        {draft.isError && <Failure error={draft.error} />}
        <div>
          <Act needs={['replay_request', 'delete']} submit tone="primary" busy={draft.isPending}>
            Draft
          </Act>
        </div>
      </form>
    </Panel>
  );
}

function OpenForm() {
  const navigate = useNavigate();
  const [id, setId] = useState('');
  return (
    <Panel title="Open a drafted one">
      <form
        className="inside stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (id.trim() !== '') void navigate(`/erasures/${encodeURIComponent(id.trim())}`);
        }}
      >
        <Field
          label="Erasure id"
          value={id}
          onChange={(event) => setId(event.target.value)}
          help="Its author sends you the address; the audit names it too."
        />
        <div>
          <button type="submit">Open</button>
        </div>
      </form>
    </Panel>
  );
}
