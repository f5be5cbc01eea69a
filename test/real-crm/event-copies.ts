import { type Admin, AssignerProtocol, Kafka, logLevel } from 'kafkajs';
import { groups, topics } from '#contracts';
import { type ReadRecord, readTopic } from '../support/topics.js';

/** The same accepted leads given to every process of a destination's group. */
export class EventCopies {
  private readonly kafka: Kafka;

  constructor(private readonly brokers: string) {
    this.kafka = new Kafka({ brokers: brokers.split(','), clientId: 'event-copies', logLevel: logLevel.NOTHING });
  }

  /** How many partitions of accepted leads each process of a destination's group reads, in no order. */
  async shares(destination: string): Promise<number[]> {
    const described = await this.asked((admin) => admin.describeGroups([groups.crmWriter(destination)]));
    const members = described.groups[0]?.members ?? [];
    return members.map(({ memberAssignment }) => {
      const assigned = memberAssignment.length === 0 ? undefined : AssignerProtocol.MemberAssignment.decode(memberAssignment);
      return assigned?.assignment[topics.leadAccepted]?.length ?? 0;
    });
  }

  /** Puts a copy of an event's record on every partition; gives their number. @throws when the event is not on the topic */
  async send(eventId: string): Promise<number> {
    const { topic, key, value, headers } = await this.recordOf(eventId);
    const partitions = await this.asked((admin) => admin.fetchTopicOffsets(topic));
    const producer = this.kafka.producer();
    await producer.connect();
    const messages = partitions.map(({ partition }) => ({ key, value, headers, partition }));
    await producer.send({ topic, messages }).finally(() => producer.disconnect());
    return messages.length;
  }

  private async recordOf(eventId: string): Promise<ReadRecord> {
    for await (const record of readTopic(this.brokers, (topic) => topic === topics.leadAccepted)) {
      if (record.value?.includes(eventId)) return record;
    }
    throw new Error(`${eventId} is not on the topic`);
  }

  private async asked<R>(question: (admin: Admin) => Promise<R>): Promise<R> {
    const admin = this.kafka.admin();
    await admin.connect();
    return question(admin).finally(() => admin.disconnect());
  }
}
