import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { get } from '../../api/client.js';
import type { Correction, Page } from '../../api/types.js';
import { Chip, Panel } from '../../parts/small.js';

/** Corrections of this lead, with where each is approved. */
export function LeadCorrections({ eventId }: { eventId: string }) {
  const asked = { event_id: eventId };
  const { data, isError } = useQuery({
    queryKey: ['corrections', 'list', asked],
    queryFn: ({ signal }) => get<Page<Correction>>('corrections', asked, signal),
  });
  if (isError) {
    return (
      <Panel title="Corrections">
        <p className="inside quiet">Whether there are any cannot be said now.</p>
      </Panel>
    );
  }
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Panel title="Corrections">
      <ul className="inside stack">
        {data.items.map(({ correction_id: id, state, destination, fields, author }) => (
          <li key={id}>
            <Link to={`/corrections/${id}`}>{fields.join(', ')}</Link> at {destination} <Chip state={state} />
            <small className="quiet"> drafted by {author}</small>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
