import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useLocation } from 'react-router';
import { get } from '../../api/client.js';
import type { DestinationState } from '../../api/types.js';
import { Answer } from '../../parts/answer.js';
import { Chip, Panel, Progress, ScreenHead, Teach } from '../../parts/small.js';
import { Ago } from '../../parts/when.js';
import { duration, number, plain } from '../../parts/words.js';
import { DestinationActions } from './destination-actions.js';
import { Latency } from './latency.js';

export function DestinationsScreen() {
  const { hash } = useLocation();
  const query = useQuery({
    queryKey: ['destinations'],
    queryFn: ({ signal }) => get<{ items: DestinationState[] }>('destinations', {}, signal),
  });
  const loaded = query.data !== undefined;
  useEffect(() => {
    if (loaded && hash !== '') document.getElementById(decodeURIComponent(hash.slice(1)))?.scrollIntoView();
  }, [hash, loaded]);
  return (
    <div className="screen">
      <ScreenHead
        title="Destinations"
        about="Each protects itself: after failures it is given a rest, then tried with one call. A person's hold stays until a person releases it."
      />
      <Answer query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Teach title="The site file names no destination">
              <p>Add one there; docs/connecting-a-crm.md shows how.</p>
            </Teach>
          ) : (
            items.map((state) => <Destination key={`${state.service}/${state.destination}`} state={state} />)
          )
        }
      </Answer>
    </div>
  );
}

function Destination({ state }: { state: DestinationState }) {
  return (
    <div id={state.destination} data-row>
      <Panel
        title={
          <span className="row">
            {state.destination} <Chip state={state.mode} /> <span className="quiet">{state.service}</span>
          </span>
        }
        side={<DestinationActions state={state} />}
      >
        <div className="inside stack">
          <Reason state={state} />
          <div className="halves">
            <Standing state={state} />
            <Latency state={state} />
          </div>
          {state.drain && <Drain drain={state.drain} />}
        </div>
      </Panel>
    </div>
  );
}

function Reason({ state: { reason, hold, open_until } }: { state: DestinationState }) {
  if (!reason && !hold && !open_until) return null;
  return (
    <p className="notice tone-held">
      {hold ? `Held${hold.by ? ` by ${hold.by}` : ''}${hold.reason ? `: ${hold.reason}` : ''}` : plain(reason ?? 'It rests')}
      {hold?.since && (
        <>
          , since <Ago at={hold.since} />
        </>
      )}
      {open_until && (
        <>
          . Tried again <Ago at={open_until} />
        </>
      )}
    </p>
  );
}

function Standing({ state }: { state: DestinationState }) {
  const { backlog, quota, breaker } = state;
  return (
    <dl className="facts">
      <dt>Waiting</dt>
      <dd>{number(backlog?.waiting)}</dd>
      <dt>Held</dt>
      <dd>{number(backlog?.held)}</dd>
      <dt>Oldest</dt>
      <dd>{backlog?.oldest_at ? <Ago at={backlog.oldest_at} /> : 'nothing waits'}</dd>
      <dt>Breaker</dt>
      <dd>
        {typeof breaker === 'string'
          ? plain(breaker)
          : breaker
            ? Object.entries(breaker)
                .map(([name, value]) => `${plain(name)} ${String(value)}`)
                .join(', ')
            : '–'}
        {state.cool_downs ? `, rested ${state.cool_downs} times` : ''}
      </dd>
      <dt>Quota</dt>
      <dd>{quota ? `${number(quota.left)} of ${number(quota.limit)} left` : 'none set'}</dd>
      <dt>At once</dt>
      <dd>{number(state.concurrency)}</dd>
    </dl>
  );
}

function Drain({ drain }: { drain: NonNullable<DestinationState['drain']> }) {
  const { left, rate_per_s: rate, eta_s: eta, total } = drain;
  return (
    <div className="stack">
      {total !== undefined && total > 0 && <Progress share={1 - left / total} label="Drain of what waited" />}
      <p>
        Draining: {number(left)} left at {number(rate)} per second{eta !== null && `, done in about ${duration(eta * 1_000)}`}
      </p>
    </div>
  );
}
