import { useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { post } from '../../api/client.js';
import type { Batch, BatchFilter, DraftRequest } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { Field } from '../../parts/field.js';
import { Failure, Panel, ScreenHead } from '../../parts/small.js';
import { useChange } from '../../parts/use-change.js';
import { number } from '../../parts/words.js';

/** What the screen before has chosen; it comes with the history entry, not with the address. */
interface Chosen {
  filter?: BatchFilter;
  count?: number;
}

const text = (form: FormData, name: string): string => String(form.get(name) ?? '').trim();

function requestOf(form: FormData, eventIds: string[] | undefined): DraftRequest {
  const named = Object.fromEntries(
    ['destination', 'class', 'code', 'organization'].map((name) => [name, text(form, name)]).filter(([, value]) => value !== ''),
  );
  return {
    filter: { ...named, ...(eventIds !== undefined && { event_ids: eventIds }) },
    max: Number(text(form, 'max')),
    new_deadline: text(form, 'new_deadline'),
    rate_per_s: Number(text(form, 'rate_per_s')),
    concurrency: Number(text(form, 'concurrency')),
    ...(text(form, 'max_duration') !== '' && { max_duration: text(form, 'max_duration') }),
    ...(text(form, 'canary') !== '' && { canary: Number(text(form, 'canary')) }),
    reason: text(form, 'reason'),
  };
}

export function DraftScreen() {
  const chosen = (useLocation().state ?? {}) as Chosen;
  const navigate = useNavigate();
  const eventIds = chosen.filter?.event_ids;
  const [short, setShort] = useState(false);
  const draft = useChange({
    act: (request: DraftRequest) => post<Pick<Batch, 'batch_id'> & { items: number }>('batches', request),
    done: ({ items }) => `Drafted with ${number(items)} items. Nothing was sent.`,
    stale: ['batches', 'audit'],
    quiet: true,
  });
  const submit = async (form: FormData) => {
    setShort(text(form, 'reason') === '');
    if (text(form, 'reason') === '') return;
    const { batch_id } = await draft.mutateAsync(requestOf(form, eventIds));
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
        <Limits />
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
          <Field label="Code" name="code" defaultValue={filter.code} placeholder="any" />
          <Field label="Organization" name="organization" defaultValue={filter.organization} placeholder="any you may see" />
        </div>
      </div>
    </Panel>
  );
}

function Limits() {
  return (
    <Panel title="How far it may go">
      <div className="fields inside">
        <Field label="Items at most" name="max" type="number" min={1} defaultValue={1_000} />
        <Field label="Items per second" name="rate_per_s" type="number" min={1} max={1_000} defaultValue={20} />
        <Field label="Under way at once" name="concurrency" type="number" min={1} defaultValue={50} />
        <Field label="Canary" name="canary" type="number" min={10} max={50} placeholder="1 %, 10 to 50" help="Tried and looked up first" />
        <Field label="New deadline" name="new_deadline" defaultValue="4h" help="From the approval on: 30m, 4h, up to 24h" />
        <Field label="Longest run" name="max_duration" placeholder="as needed" help="What has not begun by then never does" />
      </div>
    </Panel>
  );
}
