/** The parts of kafkajs 2.2.4 behind its public face that the port reaches into. The version is pinned and checked at start. */

declare module 'kafkajs/src/network/requestQueue/index.js' {
  class RequestQueue {
    constructor(options: Record<string, unknown>);
    pending: unknown[];
    throttledUntil: number;
    throttleCheckTimeoutId: NodeJS.Timeout | null;
    requestTimeoutIntervalId: NodeJS.Timeout | undefined;
    enforceRequestTimeout: boolean;
    requestTimeout: number;
    inflight: Map<number, { sentAt: number; requestTimeout: number; timeoutRequest(): void }>;
    isConnected(): boolean;
    scheduleRequestTimeoutCheck(): void;
    push(request: Record<string, unknown>): void;
    scheduleCheckPendingRequests(): void;
    destroy(): void;
  }
  export default RequestQueue;
}

declare module 'kafkajs/src/consumer/offsetManager/index.js' {
  interface PartitionOffset {
    partition: number;
    offset: string;
  }
  class OffsetManager {
    groupId: string;
    memberId: string;
    generationId: number;
    topicConfigurations: Record<string, { fromBeginning?: boolean }>;
    resolvedOffsets: Record<string, Record<number, string>>;
    cluster: {
      fetchTopicsOffset(
        topics: { topic: string; fromBeginning: boolean; partitions: { partition: number }[] }[],
      ): Promise<{ topic: string; partitions: PartitionOffset[] }[]>;
    };
    committedOffsets(): Record<string, Record<number, string>>;
    clearOffsets(where: { topic: string; partition: number }): void;
    setDefaultOffset(where: { topic: string; partition: number }): Promise<void>;
    commitOffsets(offsets?: { topics?: { topic: string; partitions: PartitionOffset[] }[] }): Promise<void>;
  }
  export default OffsetManager;
}

declare module 'kafkajs/src/consumer/consumerGroup.js' {
  import type Batch from 'kafkajs/src/consumer/batch.js';
  import type OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js';

  class ConsumerGroup {
    offsetManager: OffsetManager | null;
    fetch(nodeId: string): Promise<Batch[]>;
  }
  export default ConsumerGroup;
}

declare module 'kafkajs/src/consumer/batch.js' {
  import type OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js';

  class Batch {
    topic: string;
    partition: number;
    highWatermark: string;
    messages: unknown[];
    lastOffset(): string;
    /** Added by our patch: the offsets of the assignment under which the batch was fetched. */
    positions?: OffsetManager;
  }
  export default Batch;
}

declare module 'kafkajs/src/protocol/requests/index.js' {
  import type Encoder from 'kafkajs/src/protocol/encoder.js';

  interface Request {
    apiKey: number;
    apiVersion: number;
    encode(): Promise<Encoder>;
  }
  interface RequestDefinition {
    versions: (string | number)[];
    protocol(of: { version: number }): (args: unknown) => { request: Request; response: unknown };
  }
  const requestModule: {
    requests: Record<string, RequestDefinition>;
  };
  export default requestModule;
}

declare module 'kafkajs/src/protocol/requests/apiKeys.js' {
  const apiKeys: Record<string, number>;
  export default apiKeys;
}

declare module 'kafkajs/src/protocol/encoder.js' {
  class Encoder {
    constructor(initialSize?: number);
    readonly buffer: Buffer;
    writeString(value: string | null): this;
    writeInt16(value: number): this;
    writeInt32(value: number): this;
    writeBuffer(value: Buffer): this;
    writeArray(array: unknown[], type?: string, length?: number): this;
    writeBoolean(value: boolean): this;
  }
  export default Encoder;
}

declare module 'kafkajs/src/protocol/recordBatch/crc32C/crc32C.js' {
  const crc32C: (bytes: Buffer) => number;
  export default crc32C;
}

declare module 'kafkajs/src/protocol/requests/metadata/v6/response.js' {
  interface RawMetadata {
    brokers: { nodeId: number; host: string; port: number; rack: string | null }[];
    controllerId: number;
    topicMetadata: {
      topicErrorCode: number;
      topic: string;
      partitionMetadata: { partitionErrorCode: number; partitionId: number; leader: number; replicas: number[]; isr: number[] }[];
    }[];
  }
  const response: { decode(raw: Buffer): Promise<RawMetadata> };

  export type { RawMetadata };
  export default response;
}

declare module 'kafkajs/src/cluster/connectionPoolBuilder.js' {
  interface ConnectionPool {
    host: string;
    port: number;
    send<T>(request: { request: unknown; response: { decode(raw: Buffer): Promise<T>; parse(data: T): Promise<T> } }): Promise<T>;
    destroy(): Promise<void>;
  }
  const build: (options: Record<string, unknown>) => { build(where?: { host: string; port: number }): Promise<ConnectionPool> };

  export type { ConnectionPool };
  export default build;
}

declare module 'kafkajs/src/network/socketFactory.js' {
  const create: () => unknown;
  export default create;
}

declare module 'kafkajs/src/loggers/index.js' {
  const loggers: { createLogger(options: Record<string, unknown>): Record<string, unknown> };
  export default loggers;
}

declare module 'kafkajs/src/broker/index.js' {
  import type { ConnectionPool } from 'kafkajs/src/cluster/connectionPoolBuilder.js';

  type ApiVersions = Record<number, { minVersion: number; maxVersion: number }>;
  interface FetchedMessage {
    offset: string;
    timestamp: string;
    key: Buffer | null;
    value: Buffer | null;
    headers?: Record<string, Buffer | string | (Buffer | string)[] | undefined>;
  }
  interface PartitionOffset {
    partition: number;
    offset: string;
  }
  class Broker {
    constructor(options: Record<string, unknown>);
    connectionPool: ConnectionPool;
    versions: ApiVersions | null;
    isConnected(): boolean;
    connect(): Promise<void>;
    disconnect(): Promise<void>;
    apiVersions(): Promise<ApiVersions>;
    findGroupCoordinator(request: {
      groupId: string;
      coordinatorType: number;
    }): Promise<{ coordinator: { nodeId: number; host: string; port: number } }>;
    createTopics(request: Record<string, unknown>): Promise<unknown>;
    createPartitions(request: Record<string, unknown>): Promise<unknown>;
    deleteTopics(request: Record<string, unknown>): Promise<unknown>;
    deleteRecords(request: Record<string, unknown>): Promise<unknown>;
    listOffsets(request: {
      isolationLevel: number;
      topics: { topic: string; partitions: { partition: number; timestamp: number }[] }[];
    }): Promise<{ responses: { topic: string; partitions: PartitionOffset[] }[] }>;
    fetch(request: {
      isolationLevel: number;
      maxWaitTime: number;
      minBytes: number;
      maxBytes: number;
      topics: { topic: string; partitions: { partition: number; fetchOffset: string; maxBytes: number }[] }[];
    }): Promise<{ responses: { topicName: string; partitions: { messages: FetchedMessage[] }[] }[] }>;
    offsetFetch(request: {
      groupId: string;
      topics: { topic: string; partitions: { partition: number }[] }[];
    }): Promise<{ responses: { topic: string; partitions: PartitionOffset[] }[] }>;
    offsetCommit(request: {
      groupId: string;
      groupGenerationId: number;
      memberId: string;
      topics: { topic: string; partitions: PartitionOffset[] }[];
    }): Promise<unknown>;
    describeConfigs(request: Record<string, unknown>): Promise<{
      resources: { resourceName: string; configEntries: { configName: string; configValue: string | null; configSource: number }[] }[];
    }>;
    alterConfigs(request: Record<string, unknown>): Promise<unknown>;
    listGroups(): Promise<{ groups: { groupId: string; protocolType: string }[] }>;
    describeGroups(request: {
      groupIds: string[];
    }): Promise<{ groups: { groupId: string; state: string; members: { memberId: string; clientId: string }[] }[] }>;
  }

  export type { ApiVersions };
  export default Broker;
}
