import type { Contacts } from './contacts/index.js';
import type { StoredDelivery } from './stored-delivery.js';

const contactKind = 'contact';
const noAttempt = '00000000-0000-0000-0000-000000000000';

/**
 * For `onChange` of sweeper, verifier and commands: a contact operation that ended without a claim gives the person's row to whoever waits
 * for it.
 */
export function settleContactOf(contacts: Contacts): (after: StoredDelivery) => void {
  return ({ destination, recordKey, attemptId = noAttempt, operations }) => {
    const operation = operations.find(({ kind }) => kind === contactKind);
    if (operation === undefined || recordKey === null) return;
    contacts.settle({ destination, operationKey: operation.operationKey, attemptId, personKey: recordKey.toString() });
  };
}
