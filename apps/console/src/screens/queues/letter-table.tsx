import { useState } from 'react';
import { Link } from 'react-router';
import type { DeadLetter } from '../../api/types.js';
import { ticked } from '../../parts/ticked.js';
import { Ago } from '../../parts/when.js';
import { duration, plain, sentence, shortId } from '../../parts/words.js';
import { NotesDialog } from './notes-dialog.js';

interface Props {
  letters: DeadLetter[];
  chosen: ReadonlySet<string>;
  onChoose: (chosen: ReadonlySet<string>) => void;
}

export function LetterTable({ letters, chosen, onChoose }: Props) {
  const all = letters.every(({ dead_letter_id: id }) => chosen.has(id));
  const toggle = (id: string) => onChoose(ticked(chosen, id));
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Dead letters</caption>
        <thead>
          <tr>
            <th scope="col">
              <input
                type="checkbox"
                aria-label="Tick every row of this page"
                checked={all}
                onChange={() => onChoose(new Set(all ? [] : letters.map(({ dead_letter_id: id }) => id)))}
              />
            </th>
            <th scope="col">Lead</th>
            <th scope="col">Cause</th>
            <th scope="col">Source and form</th>
            <th scope="col">Since submitted</th>
            <th scope="col">Whose turn</th>
            <th scope="col">Decision</th>
            <th scope="col">Kept for</th>
          </tr>
        </thead>
        <tbody>
          {letters.map((letter) => (
            <LetterRow key={letter.dead_letter_id} letter={letter} ticked={chosen.has(letter.dead_letter_id)} onToggle={toggle} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function LetterRow({ letter, ticked, onToggle }: { letter: DeadLetter; ticked: boolean; onToggle: (id: string) => void }) {
  const name = letter.event_id ?? letter.dead_letter_id;
  return (
    <tr data-row>
      <td>
        <input type="checkbox" aria-label={`Tick ${shortId(name)}`} checked={ticked} onChange={() => onToggle(letter.dead_letter_id)} />
      </td>
      <td>
        {letter.event_id === null ? (
          <span className="quiet">no lead could be read</span>
        ) : (
          <Link to={`/leads/${letter.event_id}`} className="mono">
            {shortId(letter.event_id)}
          </Link>
        )}
        <small>{letter.destination ?? 'no destination'}</small>
      </td>
      <td>
        {sentence(letter.class)} {letter.code && <code>{letter.code}</code>}
        <small>
          {[letter.attempts ? `${letter.attempts} attempts` : '', letter.status ? `last answer ${letter.status}` : '']
            .filter(Boolean)
            .join(', ')}
        </small>
      </td>
      <td>
        {[letter.source, letter.form].filter(Boolean).join(' · ') || '–'}
        <small>{letter.organization ?? ''}</small>
      </td>
      <td>{duration(letter.age_ms)}</td>
      <Turn letter={letter} />
      <td>
        {plain(letter.disposition ?? 'waits')}
        <Notes letter={letter} />
      </td>
      <td>
        {'retention_ms_left' in letter
          ? duration(letter.retention_ms_left)
          : letter.state === 'held'
            ? 'as long as it waits'
            : 'until it is known'}
      </td>
    </tr>
  );
}

function Turn({ letter }: { letter: DeadLetter }) {
  const due = letter.respond_by;
  const overdue = letter.state === 'open' && due !== null && due !== undefined && Date.parse(due) < Date.now();
  return (
    <td>
      {letter.assignee ?? plain(letter.owner)}
      <small className={overdue ? 'toned tone-dead' : undefined}>
        {overdue ? 'was due ' : letter.state === 'open' || letter.state === 'closed' ? 'due ' : 'deadline '}
        <Ago at={due} />
      </small>
    </td>
  );
}

function Notes({ letter }: { letter: DeadLetter }) {
  const [open, setOpen] = useState(false);
  const count = letter.note_count ?? 0;
  if (count === 0) return null;
  return (
    <>
      <button type="button" className="plain" onClick={() => setOpen(true)}>
        {count === 1 ? 'one note' : `${count} notes`}
      </button>
      {open && <NotesDialog letterId={letter.dead_letter_id} onClose={() => setOpen(false)} />}
    </>
  );
}
