package example;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads {@code lead.accepted} and prints each event once, as one JSON line. Stops after --count events, or never.
 *
 * <p>Options: --brokers (KAFKA_BROKERS), --registry (SCHEMA_REGISTRY_URL), --group NAME (your own; never one of the product's), --count N,
 * --timeout SECONDS (with --count: give up, exit 3), --schema FILE (the reader's own).
 */
public final class ReadAccepted {
  private static final String TOPIC = "lead.accepted";
  private static final int HEAD_BYTES = 5;

  private final Registry registry;
  private final Schema readerSchema;
  /** The topic is at least once: an event can come again. Keep this where your effect is kept (a unique key on event_id), not in memory. */
  private final Set<String> seen = new HashSet<>();

  private ReadAccepted(Registry registry, Schema readerSchema) {
    this.registry = registry;
    this.readerSchema = readerSchema;
  }

  public static void main(String[] args) throws Exception {
    Options options = new Options(args);
    Registry registry = new Registry(options.get("registry", System.getenv("SCHEMA_REGISTRY_URL")));
    String schemaText = Files.readString(Path.of(options.get("schema", "../../schemas/lead.accepted-value/v1.avsc")));
    int count = Integer.parseInt(options.get("count", String.valueOf(Integer.MAX_VALUE)));
    long giveUpAfterMs = count == Integer.MAX_VALUE ? Long.MAX_VALUE : 1000 * Long.parseLong(options.get("timeout", "60"));
    ReadAccepted reader = new ReadAccepted(registry, new Schema.Parser().parse(schemaText));
    try (KafkaConsumer<byte[], byte[]> consumer = consumer(options)) {
      if (reader.read(consumer, count, giveUpAfterMs)) return;
    }
    System.err.println("only " + reader.seen.size() + " of " + count + " events arrived");
    System.exit(3);
  }

  private static KafkaConsumer<byte[], byte[]> consumer(Options options) {
    Properties settings = new Properties();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("brokers", System.getenv("KAFKA_BROKERS")));
    settings.put(ConsumerConfig.GROUP_ID_CONFIG, options.get("group", "example-java"));
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  /** True once `count` distinct events were handled, false when the time ran out before. */
  private boolean read(KafkaConsumer<byte[], byte[]> consumer, int count, long giveUpAfterMs) throws Exception {
    long startedAtNs = System.nanoTime();
    consumer.subscribe(List.of(TOPIC));
    while (seen.size() < count) {
      if ((System.nanoTime() - startedAtNs) / 1_000_000 > giveUpAfterMs) return false;
      Map<TopicPartition, OffsetAndMetadata> handled = new HashMap<>();
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
        if (seen.size() == count) break;
        handle(record);
        handled.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
      }
      // After the effect, never before: a crash in between repeats events instead of losing them. Only what was handled, not all that was polled.
      consumer.commitSync(handled);
    }
    return true;
  }

  private void handle(ConsumerRecord<byte[], byte[]> record) throws IOException, InterruptedException {
    String where = record.topic() + "/" + record.partition() + "@" + record.offset();
    try {
      Map<String, Object> decoded = decode(record.value());
      String eventId = (String) ((Map<?, ?>) decoded.get("event")).get("event_id");
      if (seen.add(eventId)) System.out.println(Json.MAPPER.writeValueAsString(decoded));
    } catch (Registry.UnknownSchema | AvroRuntimeException | IllegalArgumentException problem) {
      // One unreadable record must not stop the ones behind it. A registry that is away (IOException) ends the program, uncommitted.
      System.err.println(where + " cannot be read (" + problem.getMessage() + "): skipped");
    }
  }

  /** The event in the shape of the reader's schema, whatever version wrote it, and the writer's schema id. */
  private Map<String, Object> decode(byte[] value) throws IOException, InterruptedException {
    if (value == null || value.length < HEAD_BYTES || value[0] != 0) throw new IllegalArgumentException("it has no magic byte 0 and schema id");
    int schemaId = ByteBuffer.wrap(value, 1, 4).getInt();
    GenericDatumReader<GenericRecord> reader = new GenericDatumReader<>(registry.schema(schemaId), readerSchema);
    GenericRecord event;
    try {
      event = reader.read(null, DecoderFactory.get().binaryDecoder(value, HEAD_BYTES, value.length - HEAD_BYTES, null));
    } catch (IOException malformed) {
      throw new IllegalArgumentException(malformed.toString());
    }
    Map<String, Object> decoded = new LinkedHashMap<>();
    decoded.put("writer_schema_id", schemaId);
    decoded.put("event", Json.fromAvro(event, readerSchema));
    return decoded;
  }
}
