import { useNavigate } from 'react-router';
import { post } from '../../api/client.js';
import type { RepairDraft, RepairRequest } from '../../api/types.js';
import { Field } from '../../parts/field.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { useChange } from '../../parts/use-change.js';
import { number } from '../../parts/words.js';
import type { Selection } from './discrepancy-actions.js';

/** The limits that were filled in; an empty field is the default of the API. */
function limitsIn(form: FormData): Partial<RepairRequest> {
  const written = (name: string): string => String(form.get(name) ?? '').trim();
  const canary = written('canary');
  return {
    rate_per_s: Number(written('rate_per_s')),
    concurrency: Number(written('concurrency')),
    new_deadline: written('new_deadline'),
    ...(canary !== '' && { canary: Number(canary) }),
  };
}

function drafted({ items, left_out: left }: RepairDraft): string {
  const out = left.no_repair + left.settled + left.unknown;
  return `Drafted with ${number(items)} deliveries${out > 0 ? `, ${number(out)} discrepancies left out` : ''}. Nothing was changed.`;
}

/** Freezes the repair into a draft batch, which goes the way of every batch: dry run, approval by somebody else, canary. */
export function RepairDialog({ selection: { name, ...selection }, onClose }: { selection: Selection; onClose: () => void }) {
  const navigate = useNavigate();
  const { mutateAsync } = useChange({
    act: (request: RepairRequest) => post<RepairDraft>('reconciliation/repairs', request),
    done: drafted,
    stale: ['reconciliation', 'batches', 'overview', 'audit'],
    quiet: true,
  });
  return (
    <ReasonDialog
      title={`Draft a repair of ${name}`}
      about="Nothing is changed at the destination yet. The batch says of each item what it would do; somebody else approves it, and a few are tried first. What a person changed there is never overwritten."
      action="Draft the repair"
      onClose={onClose}
      onDo={async (reason, form) => {
        const { batch_id } = await mutateAsync({ ...selection, ...limitsIn(form), reason });
        void navigate(`/batches/${batch_id}`);
      }}
    >
      <div className="fields">
        <Field label="Items per second" name="rate_per_s" type="number" min={1} max={1_000} defaultValue={20} />
        <Field label="Under way at once" name="concurrency" type="number" min={1} defaultValue={50} />
        <Field label="Canary" name="canary" type="number" min={10} max={50} placeholder="1 %, 10 to 50" />
        <Field label="New deadline" name="new_deadline" defaultValue="4h" help="From the approval on" />
      </div>
    </ReasonDialog>
  );
}
