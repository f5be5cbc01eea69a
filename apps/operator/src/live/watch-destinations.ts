import type { DestinationsAnswer } from '#delivery';
import type { OwnerApi } from '../owners/owner-api.js';
import type { Changes } from './changes.js';

/** Their state lies with the services that send, so that it has to be asked for; nobody asks while nobody listens. */
export function watchDestinations(owners: ReadonlyMap<string, Pick<OwnerApi, 'destinations'>>, changes: Changes): () => Promise<void> {
  let before: string | undefined;
  return async () => {
    if (!changes.listened) {
      before = undefined;
      return;
    }
    const answers = await Promise.all([...owners.values()].map((owner) => owner.destinations()));
    const now = JSON.stringify(answers.map(seen));
    if (before !== undefined && before !== now) changes.tell('destinations');
    before = now;
  };
}

/** What is another state, and not only a later time. */
const seen = ({ items }: DestinationsAnswer) => items.map(({ destination, mode, reason, hold }) => [destination, mode, reason, hold?.at]);
