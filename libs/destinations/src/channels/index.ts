export type { Channel, ChannelMessage, SendContext } from './channel.js';
export { createTelegramChannel, type TelegramOptions } from './telegram.js';
