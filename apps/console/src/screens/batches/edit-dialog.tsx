import { post } from '../../api/client.js';
import type { Batch, BatchEdit } from '../../api/types.js';
import { durationText } from '../../parts/durations.js';
import { Field } from '../../parts/field.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { useChange } from '../../parts/use-change.js';

const counts = ['rate_per_s', 'concurrency', 'canary'] as const;
const durations = ['new_deadline', 'max_duration'] as const;

/** The limits that the form says otherwise than the batch; an empty field stays as it is. */
function changesIn(form: FormData, { caps, reason }: Batch, newReason: string): BatchEdit {
  const before: Readonly<Record<string, string>> = {
    rate_per_s: String(caps.rate_per_s),
    concurrency: String(caps.concurrency),
    new_deadline: durationText(caps.new_deadline_ms),
    max_duration: durationText(caps.max_duration_ms),
  };
  const written = (name: string): string => String(form.get(name) ?? '').trim();
  const changed = (name: string): boolean => written(name) !== '' && written(name) !== before[name];
  return {
    ...Object.fromEntries(counts.filter(changed).map((name) => [name, Number(written(name))])),
    ...Object.fromEntries(durations.filter(changed).map((name) => [name, written(name)])),
    ...(newReason !== reason && { reason: newReason }),
  };
}

/** Why a batch cannot be changed any more; undefined while it can. */
export function whyNoEdit({ state }: Pick<Batch, 'state'>): string | undefined {
  if (['draft', 'checked', 'approved'].includes(state)) return undefined;
  const ended = ['finished', 'stopped', 'expired'].includes(state);
  return ended ? `It is ${state}` : 'It has begun: stop it, and draft another with other limits';
}

/** Changes the limits of a batch that has not begun. Whoever changes it approves it no more than its author does. */
export function EditDialog({ batch, onClose }: { batch: Batch; onClose: () => void }) {
  const { caps } = batch;
  const { mutateAsync } = useChange({
    act: (edit: BatchEdit) => post<{ items: number }>(`batches/${batch.batch_id}/edit`, edit),
    done: 'Changed. It is a draft again: dry-run it before it is approved.',
    stale: ['batches', 'overview', 'audit'],
    quiet: true,
  });
  const voids = batch.state === 'approved' ? 'Its approval' : batch.state === 'checked' ? 'Its dry run' : undefined;
  return (
    <ReasonDialog
      title="Change this batch"
      about={
        <>
          {voids !== undefined && <strong>{voids} is void by this. </strong>}
          What is approved is exactly what was checked, so it becomes a draft with another hash. You cannot approve it afterwards: somebody
          else must.
        </>
      }
      action="Change"
      label="Reason of the batch"
      defaultReason={batch.reason ?? ''}
      onClose={onClose}
      onDo={(reason, form) => mutateAsync(changesIn(form, batch, reason))}
    >
      <div className="fields">
        <Field label="Items per second" name="rate_per_s" type="number" min={1} max={1_000} defaultValue={caps.rate_per_s} />
        <Field label="Under way at once" name="concurrency" type="number" min={1} defaultValue={caps.concurrency} />
        <Field label="Canary" name="canary" type="number" min={10} max={50} placeholder="as it is" help="10 to 50" />
        <Field label="New deadline" name="new_deadline" defaultValue={durationText(caps.new_deadline_ms)} help="From the approval on" />
        <Field label="Longest run" name="max_duration" defaultValue={durationText(caps.max_duration_ms)} />
      </div>
    </ReasonDialog>
  );
}
