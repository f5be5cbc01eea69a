import { useState } from 'react';
import { Link } from 'react-router';
import { post } from '../../api/client.js';
import type { Timeline, TimelineDelivery } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { Chip, Teach } from '../../parts/small.js';
import { useChange } from '../../parts/use-change.js';
import { Ago, When } from '../../parts/when.js';
import { plain } from '../../parts/words.js';
import { DiscardDialog, EvidenceDialog } from './delivery-dialogs.js';

export function Deliveries({ lead }: { lead: Timeline }) {
  if (lead.deliveries.length === 0) {
    return (
      <Teach title="It goes nowhere">
        <p>
          No rule of the site file matched it, or it could not be read. Add a rule and replay its dead letter from{' '}
          <Link to="/queues/dead">the queue</Link>.
        </p>
      </Teach>
    );
  }
  return lead.deliveries.map((delivery) => (
    <Delivery key={`${delivery.service}/${delivery.destination}`} lead={lead} delivery={delivery} />
  ));
}

interface Props {
  lead: Timeline;
  delivery: TimelineDelivery;
}

function Delivery({ lead, delivery }: Props) {
  const { destination, state, next_attempt_at: next, why } = delivery;
  return (
    <article className="delivery" aria-label={`Delivery to ${destination}`} data-row>
      <div className="row spread">
        <div className="row">
          <h3>
            <Link to={`/destinations#${placeOf(delivery)}`}>{titleOf(delivery)}</Link>
          </h3>
          <Chip state={state} />
          {delivery.class && <span className="quiet">{plain(delivery.class)}</span>}
          {delivery.code && <code>{delivery.code}</code>}
          {delivery.as_of && (
            <span className="chip tone-held">
              as of <When at={delivery.as_of} />
            </span>
          )}
        </div>
        <DeliveryActions lead={lead} delivery={delivery} />
      </div>
      {(next || why) && (
        <p>
          {next && (
            <>
              Next attempt <When at={next} /> (<Ago at={next} />
              ).{' '}
            </>
          )}
          {why}
        </p>
      )}
      <Operations delivery={delivery} />
    </article>
  );
}

/** A message's delivery is named `lead/<channel>/<key>/<template>`. */
const partsOf = ({ destination }: TimelineDelivery): string[] => destination.split('/');
const placeOf = (delivery: TimelineDelivery): string => partsOf(delivery)[1] ?? delivery.destination;

function titleOf(delivery: TimelineDelivery): string {
  const [, channel, , template] = partsOf(delivery);
  return channel === undefined || template === undefined ? delivery.destination : `${plain(template)}, to ${channel}`;
}

function Operations({ delivery }: { delivery: TimelineDelivery }) {
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Operations at {delivery.destination}</caption>
        <thead>
          <tr>
            <th scope="col">Operation</th>
            <th scope="col">State</th>
            <th scope="col" className="num">
              Attempts
            </th>
            <th scope="col">Their id</th>
            <th scope="col">Key</th>
          </tr>
        </thead>
        <tbody>
          {delivery.operations.map(({ operation_key, kind, state, attempts, ref }) => (
            <tr key={operation_key}>
              <td>{plain(kind)}</td>
              <td>
                <Chip state={state} />
              </td>
              <td className="num">{attempts}</td>
              <td>{ref ? <code>{ref}</code> : '–'}</td>
              <td>
                <code style={{ overflowWrap: 'anywhere' }}>{operation_key}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const stale = ['lead', 'dead-letters', 'overview', 'audit'];

function DeliveryActions({ lead, delivery }: Props) {
  const [open, setOpen] = useState<'evidence' | 'discard'>();
  const { destination, service, state } = delivery;
  const uncertain = delivery.operations.find((operation) => operation.state === 'uncertain');
  const lookup = useChange({
    act: () =>
      post(`leads/${lead.event_id}/deliveries/lookup`, {
        service,
        destination,
        operation_key: uncertain?.operation_key,
      }),
    done: `${destination} was asked what it holds. The history shows what it answered.`,
    stale,
  });
  const notUncertain = uncertain === undefined ? 'Only an operation whose outcome is uncertain needs this' : undefined;
  const ended = ['delivered', 'discarded', 'erased'].includes(state) ? `It has ended as ${plain(state)}` : undefined;
  return (
    <div className="row">
      <Act needs="replay_request" refused={notUncertain} busy={lookup.isPending} onPress={() => lookup.mutate()}>
        Look up
      </Act>
      <Act needs="replay_request" refused={notUncertain} onPress={() => setOpen('evidence')}>
        Give evidence
      </Act>
      <Act needs="replay_request" refused={ended} tone="danger" onPress={() => setOpen('discard')}>
        Discard
      </Act>
      {open === 'evidence' && uncertain !== undefined && (
        <EvidenceDialog lead={lead} delivery={delivery} operation={uncertain} onClose={() => setOpen(undefined)} />
      )}
      {open === 'discard' && <DiscardDialog lead={lead} delivery={delivery} onClose={() => setOpen(undefined)} />}
    </div>
  );
}
