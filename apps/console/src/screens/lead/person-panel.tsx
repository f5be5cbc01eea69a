import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { send } from '../../api/client.js';
import type { Revealed, Timeline } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { Panel } from '../../parts/small.js';
import { useNow } from '../../parts/when.js';
import { leftMs, type Moment, momentNow, showForMs } from './reveal-time.js';

const rows = [
  ['name', 'Name'],
  ['email', 'E-mail'],
  ['phone', 'Phone'],
] as const;

interface Shown extends Revealed {
  received: Moment;
  forMs: number;
}

async function reveal(eventId: string, reason: string): Promise<Shown> {
  const response = await send(`/v1/leads/${eventId}/reveal`, { method: 'POST', body: { reason } });
  const received = momentNow();
  const revealed = (await response.json()) as Revealed;
  return { ...revealed, received, forMs: showForMs(revealed.until, response.headers.get('date')) };
}

/** Who wrote, masked. Revealed fields live in this part of the screen alone and are gone when their time is over or the screen is left. */
export function PersonPanel({ lead }: { lead: Timeline }) {
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [revealed, setRevealed] = useState<Shown>();
  const hide = () => setRevealed(undefined);
  return (
    <Panel
      title="Person"
      side={
        revealed === undefined ? (
          <Act needs="reveal" onPress={() => setAsking(true)}>
            Reveal
          </Act>
        ) : (
          <Countdown shown={revealed} onOver={hide} />
        )
      }
    >
      <dl className="facts inside">
        {rows.map(([field, name]) => (
          <Row key={field} name={name} masked={lead.masked?.[field]} shown={revealed?.fields[field]} />
        ))}
        {lead.masked === null && <Gone />}
        {revealed !== undefined && <Message revealed={revealed} />}
      </dl>
      {asking && (
        <ReasonDialog
          title="Reveal what the person wrote"
          about="For five minutes, on this screen alone. That you looked, when and why stands in the audit."
          action="Reveal for 5 minutes"
          onClose={() => setAsking(false)}
          onDo={async (reason) => {
            setRevealed(await reveal(lead.event_id, reason));
            void client.invalidateQueries({ queryKey: ['lead', lead.event_id] });
          }}
        />
      )}
    </Panel>
  );
}

function Row({ name, masked, shown }: { name: string; masked: string | null | undefined; shown: string | null | undefined }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{shown ? <span className="revealed">{shown}</span> : <span className="masked">{masked ?? '–'}</span>}</dd>
    </>
  );
}

function Gone() {
  return (
    <>
      <dt />
      <dd className="quiet">What the person wrote is not kept any more, or cannot be read now.</dd>
    </>
  );
}

function Message({ revealed: { fields } }: { revealed: Revealed }) {
  const custom = Object.entries(fields.custom ?? {});
  return (
    <>
      <dt>Message</dt>
      <dd>{fields.message ? <span className="revealed">{fields.message}</span> : '–'}</dd>
      {custom.map(([name, value]) => (
        <Row key={name} name={name} masked={null} shown={typeof value === 'string' ? value : JSON.stringify(value)} />
      ))}
    </>
  );
}

function Countdown({ shown, onOver }: { shown: Shown; onOver: () => void }) {
  useNow(1_000);
  const left = leftMs(shown.forMs, shown.received, momentNow());
  const over = left <= 0;
  useEffect(() => {
    if (over) onOver();
  }, [over, onOver]);
  const seconds = Math.max(0, Math.ceil(left / 1_000));
  return (
    <span className="row">
      <span role="timer" className="mono">
        {Math.floor(seconds / 60)}:{String(seconds % 60).padStart(2, '0')}
      </span>
      <button type="button" onClick={onOver}>
        Hide now
      </button>
    </span>
  );
}
