export { type ContactLock, type Contacts, type ContactsOptions, type ContactWrite, createContacts, type KnownContact } from './contacts.js';
