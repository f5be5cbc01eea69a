import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { get } from '../../api/client.js';
import type { DestinationList, DestinationState, Overview } from '../../api/types.js';
import { Chip } from '../../parts/small.js';
import { duration, number, plain, toneOf } from '../../parts/words.js';

/** What could not be read, or was routed nowhere. */
const nowhere = 'none';

/** States in the order in which somebody has to care. */
const order = ['uncertain', 'dead', 'expired', 'held', 'unclaimed', 'waiting', 'in_flight', 'pending', 'accepted', 'delivered'];
/** On the topic: while nothing is sent there, nothing is taken up. */
const words: Readonly<Record<string, string>> = { unclaimed: 'not taken up yet' };
const wordOf = (state: string): string => words[state] ?? plain(state);
const queueOf: Readonly<Record<string, string>> = { uncertain: 'uncertain', dead: 'dead', expired: 'expired', held: 'held' };

export function DestinationCards({ overview }: { overview: Overview }) {
  const states = useQuery({
    queryKey: ['destinations'],
    queryFn: ({ signal }) => get<DestinationList>('destinations', {}, signal),
  });
  const names = [
    ...new Set([
      ...overview.counts.map(({ destination }) => destination),
      ...(states.data?.items ?? []).map(({ destination }) => destination),
    ]),
  ];
  const stateOf = (name: string) => states.data?.items.find(({ destination }) => destination === name);
  const calm = names.filter((name) => stateOf(name)?.mode === 'flowing' && overview.counts.every((one) => one.destination !== name));
  return (
    <section aria-label="Destinations" className="stack">
      <div className="cards">
        {names
          .filter((name) => !calm.includes(name))
          .sort()
          .map((name) => (
            <Card key={name} name={name} overview={overview} state={stateOf(name)} />
          ))}
      </div>
      {calm.length > 0 && (
        <p className="quiet">
          Flowing, with nothing open: {calm.sort().join(', ')}. <Link to="/destinations">All destinations</Link>
        </p>
      )}
    </section>
  );
}

function Card({ name, overview, state }: { name: string; overview: Overview; state: DestinationState | undefined }) {
  const counts = overview.counts
    .filter(({ destination, count }) => destination === name && count > 0)
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const oldest = overview.oldest.filter(({ destination }) => destination === name).sort((a, b) => (b.age_ms ?? 0) - (a.age_ms ?? 0))[0];
  return (
    <article className="panel card">
      <div className="row spread">
        <h2>{name === nowhere ? 'No destination' : <Link to={`/destinations#${name}`}>{name}</Link>}</h2>
        {state !== undefined && <Chip state={state.mode} />}
      </div>
      <div className="tallies">
        {counts.length === 0 && <span className="quiet">Nothing is open</span>}
        {counts.map(({ state: name_, count }) => (
          <Tally key={name_} destination={name} state={name_} count={count} />
        ))}
      </div>
      <p className="quiet">
        {oldest?.age_ms ? `Oldest ${wordOf(oldest.state)}: ${duration(oldest.age_ms)} since it was submitted` : 'Nothing waits'}
      </p>
    </article>
  );
}

function Tally({ destination, state, count }: { destination: string; state: string; count: number }) {
  const queue = queueOf[state];
  const text = (
    <>
      <b>{number(count)}</b> {wordOf(state)}
    </>
  );
  if (queue === undefined || destination === nowhere) return <span>{text}</span>;
  return (
    <Link className={`toned tone-${toneOf(state)}`} to={`/queues/${queue}?destination=${encodeURIComponent(destination)}`}>
      {text}
    </Link>
  );
}
