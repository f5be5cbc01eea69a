import Encoder from 'kafkajs/src/protocol/encoder.js';
import requestModule from 'kafkajs/src/protocol/requests/index.js';
import { type BatchedMessage, recordBatch } from './record-batch.js';

interface ProduceArgs {
  acks: number;
  timeout: number;
  compression?: number;
  transactionalId?: string | null;
  producerId?: unknown;
  producerEpoch?: number;
  topicData: { topic: string; partitions: { partition: number; firstSequence?: number; messages: BatchedMessage[] }[] }[];
}

const { Produce } = requestModule.requests;
const original = Produce?.protocol;
/** From here on there are record batches; older versions stay with kafkajs. */
const firstWithBatches = 3;
const noProducer = -1;

/** No compression, no transaction, no sequence and no times of the caller's: what the port sends. Everything else stays with kafkajs. */
function isPlain({ compression = 0, transactionalId, producerId = noProducer, producerEpoch = 0, topicData }: ProduceArgs): boolean {
  if (compression !== 0 || producerId !== noProducer || producerEpoch !== 0) return false;
  if (transactionalId !== null && transactionalId !== undefined) return false;
  return topicData.every(({ partitions }) =>
    partitions.every(
      ({ firstSequence = 0, messages }) => firstSequence === 0 && messages.every(({ timestamp }) => timestamp === undefined),
    ),
  );
}

function encoded({ acks, timeout, topicData }: ProduceArgs): Encoder {
  const timestampMs = Date.now();
  const topics = topicData.map(({ topic, partitions }) =>
    new Encoder().writeString(topic).writeArray(
      partitions.map(({ partition, messages }) => {
        const batch = recordBatch(messages, timestampMs);
        return new Encoder(batch.length + 8).writeInt32(partition).writeInt32(batch.length).writeBuffer(batch);
      }),
    ),
  );
  return new Encoder().writeString(null).writeInt16(acks).writeInt32(timeout).writeArray(topics);
}

/**
 * kafkajs gives each record, and each of its headers, a growing buffer of its own and reckons their times as bigints: most of the cost of
 * a request. A plain request is written into one buffer per partition instead, byte for byte the same.
 */
export function encodeProducesInOneGo(): void {
  if (Produce === undefined || original === undefined) throw new Error('kafkajs has no produce request');
  Produce.protocol = ({ version }) => {
    const create = original({ version });
    if (version < firstWithBatches) return create;
    return (args) => {
      const { request, ...rest } = create(args);
      if (!isPlain(args as ProduceArgs)) return { request, ...rest };
      return { ...rest, request: { ...request, encode: async () => encoded(args as ProduceArgs) } };
    };
  };
}
