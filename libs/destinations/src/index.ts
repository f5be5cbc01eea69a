export * from './channels/index.js';
export type {
  ChangedQuery,
  Connector,
  ConnectorCapabilities,
  ExpectedLead,
  ExpectedRecord,
  FoundRecord,
  LookupQuery,
  OperationCall,
  ReadAnswer,
  ReadQuery,
} from './connector.js';
export { type ConnectorSettings, createConnector, lookupKinds } from './create-connector.js';
export { type OwnerOf, ownersOf } from './owner.js';
export { mappingVersion } from './webhook/mapping.js';
