export { createGroupConsumer, type GroupConsumer, type GroupConsumerOptions } from './consumer/group-consumer.js';
export type { ConsumedRecord, Receipt } from './consumer/record.js';
export { createKafka } from './kafka/create-kafka.js';
export { BrokersUnavailable, ProduceRefused, UnsupportedBroker } from './kafka/errors.js';
export type {
  AdminPort,
  GroupDescription,
  KafkaOptions,
  KafkaPort,
  NewTopic,
  OutgoingRecord,
  ProducerPort,
  TopicDescription,
  TopicPartitionOffset,
} from './kafka/ports.js';
export { type EventDecoder, MessagingStrategy, type MessagingStrategyOptions, type Subscription } from './strategy/messaging-strategy.js';
export type { ReadResult, Received, ReceivedContext, UnreadableReason } from './strategy/received.js';
