import { createRequire } from 'node:module';
import { bindFetchesToTheirGeneration } from './fetch-generation.js';
import { stopIdleTimer } from './idle-timer.js';
import { resetOffsetsInTheOpen } from './offset-reset.js';
import { encodeProducesInOneGo } from './produce-encoding.js';
import { checkVersionFloor } from './version-floor.js';

const patchedVersion = '2.2.4';

/**
 * The client is unmaintained, so what matters here of its faults and costs is mended in place, each in one file with its reason and its test. They
 * reach into internals, hence the exact version: another one must be read and tested first. Applying them again changes nothing.
 */
export function applyPatches(): void {
  const { version } = createRequire(import.meta.url)('kafkajs/package.json') as { version: string };
  if (version !== patchedVersion) throw new Error(`The Kafka port is written for kafkajs ${patchedVersion}, but ${version} is installed`);
  stopIdleTimer();
  resetOffsetsInTheOpen();
  bindFetchesToTheirGeneration();
  checkVersionFloor();
  encodeProducesInOneGo();
}
