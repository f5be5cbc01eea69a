export interface ChatMessage {
  message_id: number;
  chat_id: string;
  text: string;
  /** First lead reference in the text. */
  lead_ref?: string;
  /** First hashtag of the text, without `#`. */
  template?: string;
  received_at: string;
  traceparent?: string;
}

/** Two `sendMessage` calls are two messages, whatever they say; repeats are only counted. */
export class ChatStore {
  private messages: ChatMessage[] = [];
  private seen = new Set<string>();
  private duplicates = 0;
  private lastId = 0;

  constructor(private readonly changed: () => void) {}

  add(chatId: string, text: string, received: { atMs: number; traceparent?: string }): ChatMessage {
    const message: ChatMessage = {
      message_id: ++this.lastId,
      chat_id: chatId,
      text,
      lead_ref: leadRefIn(text),
      template: /#(\w+)/.exec(text)?.[1],
      received_at: new Date(received.atMs).toISOString(),
      traceparent: received.traceparent,
    };
    this.messages.push(message);
    const key = tellingKey(message);
    if (this.seen.has(key)) this.duplicates += 1;
    else this.seen.add(key);
    this.changed();
    return message;
  }

  nextId(): number {
    return ++this.lastId;
  }

  all(): readonly ChatMessage[] {
    return this.messages;
  }

  latest(count: number): ChatMessage[] {
    return this.messages.slice(-count).reverse();
  }

  /** `duplicates`: messages beyond the first per chat, lead reference and template, or words where no lead is named. */
  counts(): { messages: number; duplicates: number } {
    return { messages: this.messages.length, duplicates: this.duplicates };
  }

  clear(): void {
    this.messages = [];
    this.seen.clear();
    this.duplicates = 0;
    this.changed();
  }
}

/** The first lead reference in a text. */
export function leadRefIn(text: string): string | undefined {
  return /\bL-[0-9A-Z]{16}\b/i.exec(text)?.[0];
}

/** A text that names no lead is told by its words. */
function tellingKey({ chat_id, lead_ref, template, text }: ChatMessage): string {
  const subject = lead_ref === undefined ? text : `${lead_ref} ${template}`;
  return `${chat_id} ${subject}`;
}
