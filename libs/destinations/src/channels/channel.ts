import type { Outcome } from '#delivery';
import type { TraceContext } from '#runtime';

/** One message to one recipient. `text` carries references only: no name, e-mail, phone or free text of a lead. */
export interface ChannelMessage {
  text: string;
}

export interface SendContext {
  /** Limit for the whole call, connect included, in milliseconds. */
  timeoutMs: number;
  /** Sent to the channel as `traceparent`/`tracestate`. */
  trace?: TraceContext;
}

/**
 * A way to tell a person. `send` never throws: whatever happens is an {@link Outcome}, and one that cannot be proved
 * not to have been sent is `uncertain`.
 */
export interface Channel {
  name: string;
  kind: 'telegram';
  /** Where the messages go: part of the operation key, so that a recipient is told once per template. */
  recipient: string;
  /** Test leads may be told here. */
  sandbox: boolean;
  send(message: ChannelMessage, context: SendContext): Promise<Outcome>;
  /** Cuts what is still open. */
  close(): Promise<void>;
}
