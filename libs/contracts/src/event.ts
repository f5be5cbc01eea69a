/** A contract as code sees it: where it travels, and the reader schema our own code decodes with. `Value` is a phantom for inference. */
export interface EventDescriptor<Value> {
  readonly name: string;
  readonly topic: string;
  /** Registry subject (TopicNameStrategy). */
  readonly subject: string;
  /** N of the newest schemas/<subject>/v<N>.avsc. */
  readonly schemaVersion: number;
  /** That schema as JSON text: the reader schema, and the writer schema of what we produce. */
  readonly schema: string;
  readonly value?: Value;
}
