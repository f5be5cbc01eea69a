import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client.js';
import type { Note, Page } from '../../api/types.js';
import { Answer } from '../../parts/answer.js';
import { Modal } from '../../parts/modal.js';
import { When } from '../../parts/when.js';

export function NotesDialog({ letterId, onClose }: { letterId: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['notes', letterId],
    queryFn: ({ signal }) => get<Page<Note>>(`dead-letters/${letterId}/notes`, {}, signal),
  });
  return (
    <Modal title="Notes" onClose={onClose}>
      <div className="inside">
        <Answer query={query}>
          {({ items }) => (
            <ol className="stack">
              {items.map(({ note_id, at, by, text }) => (
                <li key={note_id}>
                  <p>{text}</p>
                  <small className="quiet">
                    {by}, <When at={at} />
                  </small>
                </li>
              ))}
            </ol>
          )}
        </Answer>
        <footer>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </footer>
      </div>
    </Modal>
  );
}
