export type { Channel, ChannelMessage, SendContext } from './channel.js';
export { createChannels } from './create-channel.js';
export { createTelegramChannel, type TelegramOptions } from './telegram.js';
