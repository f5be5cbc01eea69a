import { createConnector } from '#destinations';
import { type DestinationConfig, hmacs, loadHmacSecret } from '#runtime';
import { type Finding, fine, looked, wrong } from './finding.js';

/** Asks each destination its own check call, with its credentials. Nothing is written there. */
export async function checkDestinations(configs: readonly DestinationConfig[], secretsDir: string): Promise<Finding[]> {
  const found = await Promise.all(configs.map((config) => checkDestination(config, secretsDir)));
  return found.flat();
}

function checkDestination(config: DestinationConfig, secretsDir: string): Promise<Finding[]> {
  const what = `destination ${config.name}`;
  return looked(what, 'Correct its part of the site file and its secret', async () => {
    const connector = createConnector({ name: config.name, config, secretsDir, hmacs: hmacs(loadHmacSecret(secretsDir)) });
    try {
      if (connector.check === undefined) return [fine(what, 'has no check call: nothing was asked')];
      const { ok, code = 'no answer' } = await connector.check();
      if (ok) return [fine(what, 'answers, and takes our credentials')];
      return [wrong(what, code, 'Reach it from here, or correct base_url and secret; leads wait meanwhile')];
    } finally {
      await connector.close();
    }
  });
}
