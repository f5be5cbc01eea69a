/** Every field a log line may carry. Anything else is dropped at run time, so a new field is added here first. None holds personal data. */
export interface LogFields {
  [field: string]: unknown;
}
