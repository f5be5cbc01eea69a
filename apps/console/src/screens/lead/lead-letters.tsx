import { useState } from 'react';
import { Link } from 'react-router';
import type { Timeline } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { Panel } from '../../parts/small.js';
import { plain } from '../../parts/words.js';
import { onDuty } from '../queues/decision-dialog.js';
import { DismissDialog } from '../queues/dismiss-dialog.js';

type Letter = Timeline['dead_letters'][number];

/** The dead letters of a lead, with where each is decided on. */
export function LeadLetters({ letters }: { letters: readonly Letter[] }) {
  if (letters.length === 0) return null;
  return (
    <Panel title="Dead letters">
      <ul className="inside stack">
        {letters.map((letter) => (
          <LeadLetter key={letter.dead_letter_id} letter={letter} />
        ))}
      </ul>
    </Panel>
  );
}

function LeadLetter({ letter }: { letter: Letter }) {
  const [dismissing, setDismissing] = useState(false);
  const { dead_letter_id: id, class: failure, destination, state, closed_as: closedAs, disposition } = letter;
  const ended = state === 'open' ? undefined : `It is ${plain(state)}`;
  return (
    <li className="row spread">
      <span>
        <Link to={`/queues/dead?class=${failure}&destination=${destination ?? ''}&view=list`}>{plain(failure)}</Link>
        {destination && ` at ${destination}`} · {state}
        <small className="quiet"> {plain(closedAs ?? disposition)}</small>
      </span>
      <Act needs={onDuty} refused={ended} onPress={() => setDismissing(true)}>
        Dismiss …
      </Act>
      {dismissing && <DismissDialog what={{ ids: [id] }} count={1} onClose={() => setDismissing(false)} />}
    </li>
  );
}
