export { type Connections, type InfraPart, startEmbedded } from './infra/embedded.js';
export { identify, isRunning, type ProcessIdentity } from './process/identity.js';
export { eventually, pause } from './process/wait.js';
export { runningTestInfra, startTestInfra, stopTestInfra, type TestInfra } from './test-infra/start.js';
export { type TestDatabase, testDatabase, testInfra } from './test-infra/test-database.js';
export { type TestSize, testSize } from './test-size.js';
export { uniqueName } from './unique.js';
