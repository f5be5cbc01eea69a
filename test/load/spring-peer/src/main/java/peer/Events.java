package peer;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Avro in and out, with the one version of each schema that this service was built with; no registry is asked. */
final class Events {
  private static final int HEAD_BYTES = 5;
  private static final int RESOLVED_SCHEMA_ID = 1;

  private final Schema resolved;
  private final Schema operation;
  private final GenericDatumReader<GenericRecord> reader;
  private final GenericDatumWriter<GenericRecord> writer;

  Events(Path schemas) throws IOException {
    Schema accepted = parse(schemas.resolve("lead.accepted-value/v1.avsc"));
    resolved = parse(schemas.resolve("lead.resolved-value/v1.avsc"));
    operation = resolved.getField("operations").schema().getElementType();
    reader = new GenericDatumReader<>(accepted);
    writer = new GenericDatumWriter<>(resolved);
  }

  Lead accepted(ConsumerRecord<byte[], byte[]> record) {
    byte[] value = record.value();
    try {
      GenericRecord event = reader.read(null, DecoderFactory.get().binaryDecoder(value, HEAD_BYTES, value.length - HEAD_BYTES, null));
      return new Lead(UUID.fromString((String) event.get("event_id")), (String) event.get("lead_ref"), record.key(), event);
    } catch (IOException malformed) {
      throw new IllegalArgumentException(record.topic() + "/" + record.partition() + "@" + record.offset() + " cannot be read", malformed);
    }
  }

  /** The announcement that this lead is delivered to the destination. */
  byte[] resolved(Resolved one, String destination) {
    String eventId = one.lead().eventId().toString();
    GenericRecord call = new GenericData.Record(operation);
    call.put("operation_key", eventId + ":" + destination + ":lead");
    call.put("kind", "lead");
    call.put("state", "succeeded");
    call.put("ref", one.crmRef());
    call.put("attempts", 1);
    GenericRecord event = new GenericData.Record(resolved);
    for (String name : List.of("event_id", "lead_ref", "organization", "source", "form", "campaign", "submitted_at", "accepted_at", "test")) {
      event.put(name, one.lead().event().get(name));
    }
    event.put("resolution_id", UUID.nameUUIDFromBytes((eventId + destination).getBytes(StandardCharsets.UTF_8)).toString());
    event.put("event_type", "lead.resolved");
    event.put("version", 1);
    event.put("destination", destination);
    event.put("primary", true);
    event.put("generation", 1);
    event.put("outcome", "delivered");
    event.put("operations", List.of(call));
    event.put("resolved_at", System.currentTimeMillis());
    return encoded(event);
  }

  /** Magic byte, four-byte schema id, Avro binary. */
  private byte[] encoded(GenericRecord event) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(512);
    bytes.writeBytes(ByteBuffer.allocate(HEAD_BYTES).put((byte) 0).putInt(RESOLVED_SCHEMA_ID).array());
    try {
      BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(bytes, null);
      writer.write(event, encoder);
      encoder.flush();
    } catch (IOException impossible) {
      throw new IllegalStateException(impossible);
    }
    return bytes.toByteArray();
  }

  private static Schema parse(Path file) throws IOException {
    Schema schema = new Schema.Parser().parse(Files.readString(file));
    withJavaStrings(schema);
    return schema;
  }

  /** Strings are decoded once, to Java's own. */
  private static void withJavaStrings(Schema schema) {
    switch (schema.getType()) {
      case STRING -> GenericData.setStringType(schema, GenericData.StringType.String);
      case UNION -> schema.getTypes().forEach(Events::withJavaStrings);
      case ARRAY -> withJavaStrings(schema.getElementType());
      case RECORD -> schema.getFields().forEach(field -> withJavaStrings(field.schema()));
      default -> {}
    }
  }
}
