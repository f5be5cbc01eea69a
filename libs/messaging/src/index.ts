export { type Codec, type CodecOptions, createCodec } from './codec/codec.js';
export { DecodeError, type DecodeReason, EncodeError, RegistryUnavailable } from './codec/errors.js';
export { SchemaRefused } from './codec/registry-client.js';
export { type KnownSchema, loadSchemaIds, type SchemaIds, schemaIdsDdl } from './codec/schema-ids.js';
export { registerCodecs } from './compression/codecs.js';
export { createGroupConsumer, type GroupConsumer, type GroupConsumerOptions } from './consumer/group-consumer.js';
export type { ConsumedRecord, Receipt } from './consumer/record.js';
export { createKafka } from './kafka/create-kafka.js';
export { BrokersUnavailable, ProduceRefused, UnsupportedBroker } from './kafka/errors.js';
export { type KafkaVariables, kafkaCheck, kafkaSettings } from './kafka/kafka-settings.js';
export { applyPatches } from './kafka/patches/apply-patches.js';
export type {
  AdminPort,
  GroupDescription,
  KafkaOptions,
  KafkaPort,
  LogSlice,
  NewTopic,
  OutgoingRecord,
  ProducerPort,
  TopicDescription,
  TopicPartitionOffset,
} from './kafka/ports.js';
export { insertOutbox, type OutboxColumns, type OutboxRow, outboxColumns, outboxDdl, outboxInsert, outboxLanes } from './outbox/outbox.js';
export type { NotificationHandlers, Notifications } from './relay/notifications.js';
export { createRelay, type Relay, type RelayOptions } from './relay/relay.js';
export { MessagingStrategy, type MessagingStrategyOptions, type Subscription } from './strategy/messaging-strategy.js';
export { OriginalErrors } from './strategy/original-errors.js';
export type { EventDecoder } from './strategy/reader.js';
export type { ReadResult, Received, ReceivedContext, UnreadableReason } from './strategy/received.js';
export { dueMsOf } from './tiers/not-before.js';
export {
  type AppliedSchema,
  type ApplySchemasOptions,
  applySchemas,
  findSchemaIdTables,
  type SchemaIdTable,
} from './topology/apply-schemas.js';
export { checkSchemas, type SchemaProblem } from './topology/check-schemas.js';
export type { TopologyProblem } from './topology/expected.js';
export { KafkaDoor, type KafkaDoorOptions } from './topology/kafka-door.js';
export { registeredSchemas } from './topology/registered-schemas.js';
export { type ApplyTopicsOptions, applyTopics, type TopologyReport, type VerifyTopicsOptions, verifyTopics } from './topology/topics.js';
