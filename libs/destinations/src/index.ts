export * from './channels/index.js';
export type {
  ChangedRecord,
  Connector,
  ConnectorCapabilities,
  LookupQuery,
  LookupResult,
  OperationCall,
} from './connector.js';
export { type ConnectorSettings, createConnector } from './create-connector.js';
