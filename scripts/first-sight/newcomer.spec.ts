import { delimiter } from 'node:path';
import { expect, it } from '@jest/globals';
import { newcomersEnvironment } from './newcomer.js';

it('leaves a newcomer the system alone: none of our Node, no servers, nothing that npm told us', () => {
  const PATH = ['/project/node_modules/.bin', '/usr/local/bin', '/usr/lib/node_modules/npm/bin/node-gyp-bin', '/usr/bin'].join(delimiter);
  const own = {
    npm_execpath: 'x',
    npm_config_local_prefix: 'x',
    INIT_CWD: 'x',
    NODE: 'x',
    KAFKA_BROKERS: 'x',
    DATABASE_URL: 'x',
    LD_INFRA: 'x',
  };
  const kept = { HOME: '/home', npm_config_cache: '/cache', JAVA_HOME: '/java' };
  expect(newcomersEnvironment({ ...own, ...kept, PATH })).toEqual({ ...kept, PATH: ['/usr/local/bin', '/usr/bin'].join(delimiter) });
});
