import { Link } from 'react-router';
import type { BlockedDestination } from '../../api/types.js';
import { Teach } from '../../parts/small.js';
import { onTopic, whyBlocked } from './blocked-words.js';

/** What a queue says beside its items. */
export interface Beside {
  blocked?: BlockedDestination[] | undefined;
  /** Services that do not answer. */
  unavailable?: string[] | undefined;
}

/** What no group shows: leads on the topics of destinations that nothing is sent to; and what only a silent service knows. */
export function BesideQueue({ blocked = [], unavailable = [] }: Beside) {
  if (blocked.length === 0 && unavailable.length === 0) return null;
  return (
    <div className="inside stack">
      {blocked.map((one) => (
        <p key={`${one.service} ${one.destination}`} className="notice tone-held">
          <Link to={`/destinations#${one.destination}`}>{one.destination}</Link> {whyBlocked(one)}. {onTopic(one)}
        </p>
      ))}
      {unavailable.map((service) => (
        <p key={service} className="notice tone-late" role="status">
          {service} does not answer: what only it knows is not shown.
        </p>
      ))}
    </div>
  );
}

export function NothingHere({ tab, beside }: { tab: string; beside: Beside }) {
  const { blocked = [], unavailable = [] } = beside;
  if (blocked.length > 0) {
    return (
      <Teach title="No lead that was taken up is held">
        <p>
          While nothing is sent to a destination, its leads stay on the topic untouched, and age. See them{' '}
          <Link to="/queues/held?view=list">one by one</Link>, and the oldest of each on <Link to="/destinations">Destinations</Link>.
        </p>
      </Teach>
    );
  }
  return (
    <Teach title={tab === 'all' ? 'Nothing is open' : `Nothing is ${tab}`}>
      {unavailable.length === 0 && (
        <p>
          With no filter set, this is how it should look. What ends up here has a cause, an owner and a time by which somebody should have
          looked.
        </p>
      )}
      <p className="quiet">
        To see one, run <code>npm run failure-tour</code> on a demo, or let a destination of the sandbox fail on its page.
      </p>
    </Teach>
  );
}
