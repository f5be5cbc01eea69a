import { LeadAcceptedEvent } from '#contracts';
import type { Codec } from '#messaging';

/** Keyed hash of the source's own id, which the event of a lead carries; undefined where the event cannot be read now. */
export async function submissionRef(codec: Pick<Codec, 'decode'>, event: Buffer): Promise<string | undefined> {
  return Promise.resolve()
    .then(() => codec.decode(LeadAcceptedEvent, event))
    .then(
      ({ source_event_ref }) => source_event_ref,
      () => undefined,
    );
}
