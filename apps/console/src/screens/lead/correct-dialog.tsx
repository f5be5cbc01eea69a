import { useNavigate } from 'react-router';
import { post } from '../../api/client.js';
import type { Correction, Timeline } from '../../api/types.js';
import { Choice, Field } from '../../parts/field.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { useChange } from '../../parts/use-change.js';
import { writtenTo } from './written-to.js';

const fields = ['name', 'email', 'phone', 'message'] as const;

/** What was filled in; an empty field stays as it is. */
function changesIn(form: FormData): Record<string, string> {
  const filled = fields.map((field) => [field, String(form.get(field) ?? '').trim()] as const).filter(([, value]) => value !== '');
  return Object.fromEntries(filled);
}

export function CorrectDialog({ lead, onClose }: { lead: Timeline; onClose: () => void }) {
  const navigate = useNavigate();
  const { mutateAsync } = useChange({
    act: (body: unknown) => post<Correction>('corrections', body),
    done: 'The correction was drafted; a second person approves it',
    stale: ['lead', 'audit'],
    quiet: true,
  });
  return (
    <ReasonDialog
      title="Correct this lead"
      about="Makes the next revision of the same lead, after a look at what the destination holds. Empty fields stay as they are."
      action="Draft the correction"
      onClose={onClose}
      onDo={async (reason, form) => {
        const { correction_id } = await mutateAsync({
          event_id: lead.event_id,
          destination: String(form.get('destination')),
          changes: changesIn(form),
          reason,
        });
        void navigate(`/corrections/${correction_id}`);
      }}
    >
      <Choice label="Deliver it to" name="destination" options={writtenTo(lead).map(({ destination }) => [destination, destination])} />
      <div className="fields">
        <Field label="Name" name="name" maxLength={200} />
        <Field label="E-mail" name="email" type="email" maxLength={320} />
        <Field label="Phone" name="phone" type="tel" maxLength={40} />
        <Field label="Message" name="message" maxLength={4_000} />
      </div>
    </ReasonDialog>
  );
}
