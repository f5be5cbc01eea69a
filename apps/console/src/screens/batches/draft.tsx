import { useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { post } from '../../api/client.js';
import type { Batch, BatchFilter } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { Field } from '../../parts/field.js';
import { Failure, Panel, ScreenHead } from '../../parts/small.js';
import { useChange } from '../../parts/use-change.js';
import { number } from '../../parts/words.js';
import { draftOf } from './draft-of.js';

/** What the screen before has chosen; it comes with the history entry, not with the address. */
interface Chosen {
  filter?: BatchFilter;
  count?: number;
}

export function DraftScreen() {
  const chosen = (useLocation().state ?? {}) as Chosen;
  const navigate = useNavigate();
  const eventIds = chosen.filter?.event_ids;
  const [short, setShort] = useState(false);
  const draft = useChange({
    act: async (form: FormData) => post<Pick<Batch, 'batch_id'> & { items: number }>('batches', draftOf(form, eventIds)),
    done: ({ items }) => `Drafted with ${number(items)} items. Nothing was sent.`,
    stale: ['batches', 'audit'],
    quiet: true,
  });
  const submit = async (form: FormData) => {
    const reasonless = String(form.get('reason') ?? '').trim() === '';
    setShort(reasonless);
    if (reasonless) return;
    const { batch_id } = await draft.mutateAsync(form);
    void navigate(`/batches/${batch_id}`);
  };
  return (
    <div className="screen">
      <ScreenHead
        title="Draft a batch"
        about="Freezes the letters that match now into a list. Nothing is sent until somebody else has approved it."
      />
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit(new FormData(event.currentTarget)).catch(() => undefined);
        }}
      >
        <Selection filter={chosen.filter} count={chosen.count} />
        <Limits count={chosen.count} />
        <Panel title="Why">
          <div className="inside field">
            <label htmlFor="reason">Reason</label>
            <textarea id="reason" name="reason" maxLength={500} aria-invalid={short} placeholder="The cause is gone because …" />
            {short && <span role="alert">Say why it is safe to send them again: whoever approves reads it.</span>}
          </div>
        </Panel>
        {draft.isError && <Failure error={draft.error} />}
        <div>
          <Act needs="replay_request" tone="primary" submit busy={draft.isPending}>
            Draft
          </Act>
        </div>
      </form>
    </div>
  );
}

/** Half-open, in the zone of the machine. */
const windows = [
  ['Submitted from', 'submitted_from', 'In your own time zone; empty: any'],
  ['Submitted before', 'submitted_to', undefined],
  ['Ended from', 'dead_from', 'When it ended without its effect'],
  ['Ended before', 'dead_to', undefined],
] as const;

function Selection({ filter = {}, count }: Chosen) {
  return (
    <Panel title="Which letters" side={count !== undefined && <span className="quiet">{number(count)} chosen on the screen before</span>}>
      <div className="inside stack">
        {filter.event_ids !== undefined && (
          <p>Open dead letters of {number(filter.event_ids.length)} chosen lead(s), narrowed by what stands here.</p>
        )}
        <div className="fields">
          <Field label="Destination" name="destination" defaultValue={filter.destination} placeholder="any" />
          <Field label="Class" name="class" defaultValue={filter.class} placeholder="any" />
          <FieldOrNone label="Code" name="code" value={filter.code} none={filter.no_code} without="Only without a code" />
          <FieldOrNone
            label="Schema id"
            name="schema_id"
            type="number"
            min={0}
            value={filter.schema_id}
            none={filter.no_schema_id}
            without="Only without a schema id"
          />
          <Field label="Organization" name="organization" defaultValue={filter.organization} placeholder="any you may see" />
          <Field label="Source" name="source" defaultValue={filter.source} placeholder="any" />
          <Field label="Form" name="form" defaultValue={filter.form} placeholder="any" />
        </div>
        <div className="fields">
          {windows.map(([label, name, help]) => (
            <Field key={name} label={label} name={name} type="datetime-local" help={help} />
          ))}
        </div>
      </div>
    </Panel>
  );
}

interface FieldOrNoneProps {
  label: string;
  name: 'code' | 'schema_id';
  type?: 'number';
  min?: number;
  value: string | number | undefined;
  /** Only what has none is meant. */
  none: boolean | undefined;
  without: string;
}

/** What letters say of this, or that they say nothing of it. */
function FieldOrNone({ name, value, none = false, without, ...field }: FieldOrNoneProps) {
  const [absent, setAbsent] = useState(none);
  return (
    <div className="stack">
      <Field {...field} name={name} defaultValue={value} disabled={absent} placeholder={absent ? 'none' : 'any'} />
      <label className="row">
        <input type="checkbox" name={`no_${name}`} checked={absent} onChange={(event) => setAbsent(event.target.checked)} />
        {without}
      </label>
    </div>
  );
}

/** What a batch holds at most unless more letters were chosen, and what the API lets one hold. */
const usualItems = 1_000;
const mostItems = 100_000;

function Limits({ count = 0 }: Pick<Chosen, 'count'>) {
  const max = Math.min(mostItems, Math.max(usualItems, count));
  return (
    <Panel title="How far it may go">
      <div className="fields inside">
        <Field label="Items at most" name="max" type="number" min={1} max={mostItems} defaultValue={max} />
        <Field label="Items per second" name="rate_per_s" type="number" min={1} max={1_000} defaultValue={20} />
        <Field label="Under way at once" name="concurrency" type="number" min={1} defaultValue={50} />
        <Field label="Canary" name="canary" type="number" min={10} max={50} placeholder="1 %, 10 to 50" help="Tried and looked up first" />
        <Field label="New deadline" name="new_deadline" defaultValue="4h" help="From the approval on: 30m, 4h, up to 24h" />
        <Field label="Longest run" name="max_duration" placeholder="as needed" help="What has not begun by then never does" />
      </div>
    </Panel>
  );
}
