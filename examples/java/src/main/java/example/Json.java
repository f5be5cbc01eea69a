package example;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;

/** Plain JSON to Avro records and back; times are ISO text in JSON and epoch milliseconds in Avro. */
final class Json {
  static final ObjectMapper MAPPER = new ObjectMapper();
  private static final DateTimeFormatter ISO_MILLIS = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSX").withZone(ZoneOffset.UTC);

  private Json() {}

  /** A value of the schema; an absent field takes the schema's default. */
  static Object toAvro(JsonNode node, Schema schema) {
    return switch (schema.getType()) {
      case UNION -> node == null || node.isNull() ? null : toAvro(node, notNull(schema));
      case RECORD -> toRecord(node, schema);
      case MAP -> {
        Map<String, Object> map = new HashMap<>();
        node.fields().forEachRemaining(entry -> map.put(entry.getKey(), toAvro(entry.getValue(), schema.getValueType())));
        yield map;
      }
      case ARRAY -> {
        List<Object> list = new ArrayList<>();
        node.forEach(item -> list.add(toAvro(item, schema.getElementType())));
        yield list;
      }
      case LONG -> isTime(schema) ? Instant.parse(node.asText()).toEpochMilli() : node.asLong();
      case INT -> node.asInt();
      case BOOLEAN -> node.asBoolean();
      default -> node.asText();
    };
  }

  private static GenericRecord toRecord(JsonNode node, Schema schema) {
    GenericRecord record = new GenericData.Record(schema);
    for (Schema.Field field : schema.getFields()) {
      JsonNode value = node.get(field.name());
      boolean useDefault = value == null && field.hasDefaultValue();
      record.put(field.name(), useDefault ? GenericData.get().getDefaultValue(field) : toAvro(value, field.schema()));
    }
    return record;
  }

  /** Maps, lists, text, numbers, booleans and null, ready for a JSON writer. */
  static Object fromAvro(Object value, Schema schema) {
    if (value == null) return null;
    return switch (schema.getType()) {
      case UNION -> fromAvro(value, notNull(schema));
      case RECORD -> {
        Map<String, Object> map = new LinkedHashMap<>();
        for (Schema.Field field : schema.getFields()) map.put(field.name(), fromAvro(((GenericRecord) value).get(field.name()), field.schema()));
        yield map;
      }
      case ARRAY -> ((List<?>) value).stream().map(item -> fromAvro(item, schema.getElementType())).toList();
      case LONG -> isTime(schema) ? ISO_MILLIS.format(Instant.ofEpochMilli((Long) value)) : value;
      case INT, BOOLEAN, FLOAT, DOUBLE -> value;
      default -> value.toString();
    };
  }

  private static boolean isTime(Schema schema) {
    return schema.getLogicalType() instanceof LogicalTypes.TimestampMillis;
  }

  private static Schema notNull(Schema union) {
    return union.getTypes().stream().filter(branch -> branch.getType() != Schema.Type.NULL).findFirst().orElseThrow();
  }
}
