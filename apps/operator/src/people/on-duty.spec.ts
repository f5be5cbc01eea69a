import { expect, it } from '@jest/globals';
import type { AreaTools } from '../area.js';
import { BatchesController } from '../batches/batches.controller.js';
import { lettersArea } from '../dead-letters/letters.controller.js';
import { routesOf } from '../openapi/routes-of.js';

it.each([
  '/v1/dead-letters/assign',
  '/v1/dead-letters/note',
  '/v1/dead-letters/disposition',
  '/v1/dead-letters/:dead_letter_id/dismiss',
  '/v1/batches/:batch_id/pause',
  '/v1/batches/:batch_id/stop',
])('%s says itself that it is for who may ask for a replay and who may approve one', async (path) => {
  const { controllers = [] } = await lettersArea({ clients: new Map(), owners: new Map() } as unknown as AreaTools);
  const route = routesOf([...controllers, BatchesController]).find((one) => one.path === path && one.method === 'post');
  expect(route?.access).toEqual(['replay_request', 'replay_approve']);
});
