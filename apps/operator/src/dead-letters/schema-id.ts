const prefixBytes = 5;
const largestInteger = 2_147_483_647;

/** Id of the writer's schema that a record in Confluent framing names; undefined where the bytes have no such frame. */
export function schemaIdOf(value: Buffer | null | undefined): number | undefined {
  if (!value || value.length < prefixBytes || value[0] !== 0) return undefined;
  const id = value.readUInt32BE(1);
  return id <= largestInteger ? id : undefined;
}
