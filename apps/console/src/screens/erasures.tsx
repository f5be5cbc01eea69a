import { useNavigate } from 'react-router';
import { post } from '../api/client.js';
import type { Erasure } from '../api/types.js';
import { Act } from '../parts/act.js';
import { Choice, Field } from '../parts/field.js';
import { Failure, Panel, ScreenHead } from '../parts/small.js';
import { useChange } from '../parts/use-change.js';
import { ErasureList } from './erasure-list.js';

export function ErasuresScreen() {
  return (
    <div className="screen">
      <ScreenHead
        title="Erasures"
        about="Removes what a person sent from every place, and proves it: each place is counted before and after. One person drafts, another approves."
      />
      <DraftForm />
      <ErasureList />
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
