import { ApiError, post } from '../../api/client.js';
import type { Timeline, TimelineDelivery, TimelineOperation } from '../../api/types.js';
import { Choice, Field } from '../../parts/field.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { useChange } from '../../parts/use-change.js';

interface Props {
  lead: Timeline;
  delivery: TimelineDelivery;
  onClose: () => void;
}

const stale = ['lead', 'dead-letters', 'overview', 'audit'];

/** An uncertain operation ends by what a person found out at the destination. */
export function EvidenceDialog({ lead, delivery, operation, onClose }: Props & { operation: TimelineOperation }) {
  const { mutateAsync } = useChange({
    act: (body: Record<string, unknown>) => post(`leads/${lead.event_id}/deliveries/evidence`, body),
    done: 'The evidence was recorded',
    stale,
    quiet: true,
  });
  return (
    <ReasonDialog
      title={`What did you find at ${delivery.destination}?`}
      about="Look there first, by the operation key or the external id. If it is not there, it is sent again; if it is, it is never sent again."
      action="Record"
      onClose={onClose}
      onDo={(reason, fields) =>
        mutateAsync({
          service: delivery.service,
          destination: delivery.destination,
          operation_key: operation.operation_key,
          finding: findingOf(fields),
          reason,
        })
      }
    >
      <Choice
        label="Finding"
        name="finding"
        options={[
          ['', 'Choose what you found'],
          ['absent', 'It is not there: send it again'],
          ['found', 'It is there: take it for done'],
        ]}
      />
      <Field label="Their id, if it is there" name="ref" maxLength={200} />
    </ReasonDialog>
  );
}

function findingOf(fields: FormData): { kind: 'found'; ref: string } | { kind: 'absent' } {
  const kind = fields.get('finding');
  if (kind === 'found') return { kind, ref: String(fields.get('ref') ?? '').trim() };
  if (kind === 'absent') return { kind };
  throw new ApiError(422, 'Say what you found', { detail: 'Nothing is taken for granted: choose whether it is there.' });
}

export function DiscardDialog({ lead, delivery, onClose }: Props) {
  const { mutateAsync } = useChange({
    act: (body: Record<string, unknown>) => post(`leads/${lead.event_id}/deliveries/discard`, body),
    done: `The delivery to ${delivery.destination} was given up`,
    stale,
    quiet: true,
  });
  return (
    <ReasonDialog
      title={`Give up the delivery to ${delivery.destination}?`}
      about="It will not be tried again, and nobody at the destination will hear of this lead. Its history stays."
      action="Discard"
      tone="danger"
      onClose={onClose}
      onDo={(reason, fields) =>
        mutateAsync({
          service: delivery.service,
          destination: delivery.destination,
          reason,
          ...(fields.get('evidence') ? { evidence: String(fields.get('evidence')) } : {}),
        })
      }
    >
      {delivery.state === 'uncertain' && (
        <Field label="Evidence" name="evidence" help="It may have been written. Say how you know what is there." maxLength={200} required />
      )}
    </ReasonDialog>
  );
}
