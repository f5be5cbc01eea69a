import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useLocation } from 'react-router';
import { get } from '../../api/client.js';
import { pollEveryMs } from '../../api/live.js';
import type { DestinationList, DestinationState } from '../../api/types.js';
import { Answer } from '../../parts/answer.js';
import { Chip, Panel, Progress, ScreenHead, Teach } from '../../parts/small.js';
import { Ago } from '../../parts/when.js';
import { duration, number, plain } from '../../parts/words.js';
import { DestinationActions } from './destination-actions.js';
import { Latency, LatencyByHour } from './latency.js';

export function DestinationsScreen() {
  const { hash } = useLocation();
  const query = useQuery({
    queryKey: ['destinations'],
    queryFn: ({ signal }) => get<DestinationList>('destinations', {}, signal),
    refetchInterval: pollEveryMs,
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
        {({ items, unavailable }) => (
          <>
            {(unavailable ?? []).length > 0 && (
              <p className="notice tone-dead" role="status">
                {unavailable.join(' and ')} does not answer: its destinations are unknown now, and deliveries there stand still.
              </p>
            )}
            {items.length === 0 ? (
              <Teach title="The site file names no destination">
                <p>Add one there; docs/connecting-a-crm.md shows how.</p>
              </Teach>
            ) : (
              items.map((state) => <Destination key={`${state.service}/${state.destination}`} state={state} />)
            )}
          </>
        )}
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
          <LatencyByHour hours={state.latency.by_hour} />
          {state.drain && <Drain drain={state.drain} />}
        </div>
      </Panel>
    </div>
  );
}

const reasons: Readonly<Record<string, string>> = {
  failing: 'It fails, so it is given a rest',
  throttled: 'It asked for less',
  auth: 'It refuses our credentials: mend them, then release it',
  hold: 'It is held',
};

function Reason({ state: { reason, hold, open_until, configured } }: { state: DestinationState }) {
  if (!configured) return <p className="notice tone-held">The site file does not name it any more. What waits for it can be discarded.</p>;
  if (reason === undefined && hold === undefined) return null;
  return (
    <p className="notice tone-held">
      {hold === undefined ? reasons[reason ?? ''] : `Held by ${hold.by}: ${hold.reason}`}
      {hold !== undefined && (
        <>
          , since <Ago at={hold.since} />
        </>
      )}
      {open_until !== undefined && (
        <>
          . Tried again <Ago at={open_until} />
        </>
      )}
    </p>
  );
}

function Standing({ state }: { state: DestinationState }) {
  const { backlog, quota, breaker, cool_downs: rests } = state;
  return (
    <dl className="facts">
      <dt>Waiting</dt>
      <dd>{number(backlog.waiting)}</dd>
      <dt>Held</dt>
      <dd>{number(backlog.held)}</dd>
      {backlog.unclaimed !== undefined && (
        <>
          <dt>Not taken up yet</dt>
          <dd>
            <Unclaimed unclaimed={backlog.unclaimed} />
          </dd>
        </>
      )}
      <dt>Uncertain</dt>
      <dd>{number(backlog.uncertain)}</dd>
      <dt>Oldest</dt>
      <dd>{backlog.oldest_at === undefined ? 'nothing waits' : <Ago at={backlog.oldest_at} />}</dd>
      <dt>Breaker</dt>
      <dd>
        {plain(breaker)}
        {rests > 0 && `, ${rests} rests in a row`}
      </dd>
      <dt>Quota</dt>
      <dd>
        {quota === undefined
          ? 'none set'
          : `${number(quota.left)} of ${number(quota.limit)} left; ${number(quota.requests)} in ${duration(quota.per_ms)}`}
      </dd>
      <dt>At once</dt>
      <dd>{number(state.concurrency)}</dd>
    </dl>
  );
}

const whyUnknown: Readonly<Record<string, string>> = {
  kafka_away: 'not known: Kafka does not answer',
  kafka_refused: 'not known: Kafka refuses to tell',
  no_position: 'not known: its group has no committed position (leadctl topics apply)',
};

/** What lies on the topic: while nothing is sent there, nothing is taken up. */
function Unclaimed({ unclaimed }: { unclaimed: NonNullable<DestinationState['backlog']['unclaimed']> }) {
  const { count, at_most: atMost, oldest_at: oldest, unknown } = unclaimed;
  if (unknown !== undefined) return <span className="toned tone-unsure">{whyUnknown[unknown] ?? plain(unknown)}</span>;
  return (
    <>
      {atMost && 'at most '}
      {number(count)} on the topic
      {oldest !== undefined && (
        <>
          , the oldest submitted <Ago at={oldest} />
        </>
      )}
    </>
  );
}

function Drain({ drain }: { drain: NonNullable<DestinationState['drain']> }) {
  const { left, rate_per_s: rate, eta_s: eta, total } = drain;
  return (
    <div className="stack">
      {total > 0 && <Progress share={1 - left / total} label="Drain of what waited" />}
      <p>
        Draining: {number(left)} left at {number(rate)} per second{eta !== null && `, done in about ${duration(eta * 1_000)}`}
      </p>
    </div>
  );
}
