import { describe, expect, it } from '@jest/globals';
import { outlineOf } from './outline.js';

describe('the outline of a site file', () => {
  it('names the secrets of destinations and channels, and nothing that only looks like one', () => {
    const { destinations, channels } = outlineOf({
      destinations: {
        crm: { secret: { file: 'crm-secret' }, paths: { file: '/files' }, lookup: { env: '/env' } },
        open: { secret: 'whsec_clear' },
        none: null,
      },
      channels: { chat: { token: { env: 'CHAT_TOKEN' }, more: { file: 'x' } } },
    });
    expect(destinations.crm?.secrets).toEqual([{ path: 'destinations.crm.secret', ref: { file: 'crm-secret' } }]);
    expect([destinations.open?.secrets, destinations.none?.secrets]).toEqual([[], []]);
    expect(channels.chat?.secrets).toEqual([{ path: 'channels.chat.token', ref: { env: 'CHAT_TOKEN' } }]);
  });
});
