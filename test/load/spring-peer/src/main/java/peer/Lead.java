package peer;

import java.util.UUID;
import org.apache.avro.generic.GenericRecord;

/** An accepted lead, with the key of the record that brought it. */
record Lead(UUID eventId, String leadRef, byte[] key, GenericRecord event) {}
