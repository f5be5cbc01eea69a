export * from './channels/index.js';
export type {
  ChangedRecord,
  Connector,
  ConnectorCapabilities,
  LookupQuery,
  OperationCall,
} from './connector.js';
export { type ConnectorSettings, createConnector } from './create-connector.js';
export { mappingVersion } from './webhook/mapping.js';
