package example;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Hands one lead in on the topic {@code leads} and prints where it landed, as one JSON line.
 *
 * <p>Options: --brokers (KAFKA_BROKERS), --registry (SCHEMA_REGISTRY_URL), --codec none|gzip|snappy|lz4|zstd, --lead FILE, --schema FILE,
 * --source-event-id ID.
 */
public final class ProduceLead {
  private static final String TOPIC = "leads";

  public static void main(String[] args) throws Exception {
    Options options = new Options(args);
    String schemaText = Files.readString(Path.of(options.get("schema", "../../schemas/leads-value/v1.avsc")));
    int schemaId = new Registry(options.get("registry", System.getenv("SCHEMA_REGISTRY_URL"))).idOf(TOPIC + "-value", schemaText);
    ObjectNode lead = readLead(options);
    String sourceEventId = lead.get("source_event_id").asText();
    String codec = options.get("codec", "none");

    try (KafkaProducer<String, byte[]> producer = producer(options, codec)) {
      // The key is the submission's own id, so that its repeats stay in order; never an e-mail or a phone.
      RecordMetadata landed = producer.send(new ProducerRecord<>(TOPIC, sourceEventId, encode(lead, schemaText, schemaId))).get();
      Map<String, Object> report = new LinkedHashMap<>();
      report.put("source_event_id", sourceEventId);
      report.put("topic", landed.topic());
      report.put("partition", landed.partition());
      report.put("offset", landed.offset());
      report.put("schema_id", schemaId);
      report.put("codec", codec);
      System.out.println(Json.MAPPER.writeValueAsString(report));
    }
  }

  private static ObjectNode readLead(Options options) throws IOException {
    ObjectNode lead = (ObjectNode) Json.MAPPER.readTree(Files.readString(Path.of(options.get("lead", "../lead.json"))));
    String ownId = options.get("source-event-id", "");
    if (!ownId.isEmpty()) lead.put("source_event_id", ownId);
    // The moment the person submitted: deadlines run from it. Real sources know it; the sample is submitted now.
    if (!lead.hasNonNull("submitted_at")) lead.put("submitted_at", Instant.now().toString());
    return lead;
  }

  /** Magic byte, four-byte schema id, Avro binary. */
  private static byte[] encode(ObjectNode lead, String schemaText, int schemaId) throws IOException {
    Schema schema = new Schema.Parser().parse(schemaText);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream head = new DataOutputStream(bytes);
    head.writeByte(0);
    head.writeInt(schemaId);
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(bytes, null);
    new GenericDatumWriter<Object>(schema).write(Json.toAvro(lead, schema), encoder);
    return bytes.toByteArray();
  }

  private static KafkaProducer<String, byte[]> producer(Options options, String codec) {
    Properties settings = new Properties();
    settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("brokers", System.getenv("KAFKA_BROKERS")));
    settings.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, codec);
    settings.put(ProducerConfig.ACKS_CONFIG, "all");
    settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
    settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 30_000);
    settings.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, 10_000);
    return new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer());
  }
}
