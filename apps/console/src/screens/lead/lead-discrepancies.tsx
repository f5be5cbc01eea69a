import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { get } from '../../api/client.js';
import type { Discrepancy, Page } from '../../api/types.js';
import { Chip, Panel } from '../../parts/small.js';
import { aspectOf, classWords } from '../reconciliation/discrepancy-words.js';

/** What a destination holds of this lead otherwise than we know. What was found stands in the history as well. */
export function LeadDiscrepancies({ eventId }: { eventId: string }) {
  const asked = { event_id: eventId };
  const { data, isError } = useQuery({
    queryKey: ['reconciliation', 'discrepancies', asked],
    queryFn: ({ signal }) => get<Page<Discrepancy>>('reconciliation/discrepancies', asked, signal),
  });
  if (isError) {
    return (
      <Panel title="At the destinations">
        <p className="inside quiet">Whether anything differs there cannot be said now.</p>
      </Panel>
    );
  }
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Panel title="At the destinations" side={<Link to={`/reconciliation/discrepancies?event_id=${eventId}&state=any`}>Decide</Link>}>
      <ul className="inside stack">
        {data.items.map((one) => (
          <li key={one.discrepancy_id}>
            {classWords[one.class]} at {one.destination} <Chip state={one.state} />
            <small className="quiet"> {aspectOf(one)}</small>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
