import type { Contacts } from './contacts/index.js';
import type { StoredDelivery } from './stored-delivery.js';

const contactKind = 'contact';

/**
 * For `onChange` of sweeper, verifier and commands: a contact operation that ended without a claim gives the person's row to whoever waits
 * for it.
 */
export function settleContactOf(contacts: Contacts): (after: StoredDelivery) => void {
  return ({ destination, recordKey, operations }) => {
    const operation = operations.find(({ kind }) => kind === contactKind);
    if (operation === undefined || recordKey === null) return;
    contacts.settle({ destination, operationKey: operation.operationKey, personKey: recordKey.toString() });
  };
}
