export { contactBusy } from './busy.js';
export {
  type ContactLock,
  type Contacts,
  type ContactsOptions,
  type ContactWrite,
  createContacts,
  type KnownContact,
  type SettledWrite,
  type SettleOptions,
} from './contacts.js';
export { type TidyCursor, tidyBeginning, tidyContacts } from './tidy-rows.js';
