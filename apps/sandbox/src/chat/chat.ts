import { carryOut } from '../faults/carry-out.js';
import { control } from '../faults/control.js';
import { ruleSchema } from '../faults/rule.js';
import { RuleBook } from '../faults/rule-book.js';
import { type Answer, type Call, type Exchange, jsonObject, sendAnswer, type Witness } from '../http/call.js';
import { ChatStore, leadRefIn } from './chat-store.js';
import { telegramError, telegramRefusal } from './telegram-answers.js';

export interface ChatOptions {
  /** The only bot token let in; any well-formed one when not set. */
  token?: string;
  changed: () => void;
}

const controlSchema = ruleSchema(['sendMessage']);
/** Longest text in UTF-16 units, as Telegram counts. */
const maxTextLength = 4096;

/**
 * A chat that speaks the Bot API's `sendMessage`: no idempotency key, nothing to look up. In a rule `external_id` is the lead
 * reference named in the text.
 */
export class Chat implements Witness {
  readonly rules = new RuleBook();
  private readonly store: ChatStore;
  private requests = 0;

  constructor(private readonly options: ChatOptions) {
    this.store = new ChatStore(options.changed);
  }

  routeOf(path: string): string {
    return path.startsWith('/bot') ? '/bot{token}/sendMessage' : path;
  }

  handle(exchange: Exchange): void {
    const { call, res } = exchange;
    const bot = /^\/bot([^/]*)\/(\w+)$/.exec(call.path);
    if (bot !== null && bot[2]?.toLowerCase() === 'sendmessage') {
      this.send(exchange, bot[1] ?? '');
      return;
    }
    sendAnswer(res, bot === null ? this.administer(call) : telegramError(404));
    exchange.span.end();
  }

  snapshot(count: number): Record<string, unknown> {
    return { stats: this.stats(), messages: this.store.latest(count) };
  }

  stats(): Record<string, number> {
    return { ...this.store.counts(), requests: this.requests };
  }

  private administer(call: Call): Answer {
    if (call.path.startsWith('/control')) return control(call, this.rules, controlSchema);
    if (call.path === '/stats') return { status: 200, body: this.stats() };
    if (call.path === '/messages' || (call.path === '/data' && call.method === 'GET')) return { status: 200, body: this.store.all() };
    if (call.path !== '/data' || call.method !== 'DELETE') return telegramError(404);
    this.requests = 0;
    this.store.clear();
    return { status: 200, body: this.stats() };
  }

  private send(exchange: Exchange, token: string): void {
    this.requests += 1;
    const { call } = exchange;
    const read = readMessage(call);
    const message = read ?? { chatId: '', text: '' };
    const { fault } = this.rules.decide({ operation: 'sendMessage', externalId: leadRefIn(message.text) }, []);
    const refused = this.authorized(token) ? refusal(read) : telegramError(401);
    const answer = (id: number): Answer => ({ status: 200, body: { ok: true, result: posted(id, message, call.receivedMs) } });
    carryOut(exchange, fault, {
      commit: () => refused ?? answer(this.keep(message, call)),
      pretend: () => refused ?? answer(this.store.nextId()),
      refusal: (status) => telegramRefusal(status, fault?.headers),
      finished: () => undefined,
    });
  }

  private authorized(token: string): boolean {
    return token !== '' && (this.options.token === undefined || token === this.options.token);
  }

  private keep({ chatId, text }: Message, { receivedMs, headers }: Call): number {
    return this.store.add(chatId, text, { atMs: receivedMs, traceparent: headers.traceparent?.toString() }).message_id;
  }
}

interface Message {
  chatId: string;
  text: string;
}

function readMessage(call: Call): Message | undefined {
  const given = parameters(call);
  return given && { chatId: String(given.chat_id ?? ''), text: String(given.text ?? '') };
}

function refusal(message: Message | undefined): Answer | undefined {
  if (message === undefined) return telegramError(400, "Bad Request: can't parse request body");
  if (message.chatId === '') return telegramError(400, 'Bad Request: chat_id is empty');
  if (message.text.trim() === '') return telegramError(400, 'Bad Request: message text is empty');
  if (message.text.length > maxTextLength) return telegramError(400, 'Bad Request: message is too long');
  return undefined;
}

/** Parameters in the query, as a form or as JSON, as the Bot API takes them. */
function parameters(call: Call): Record<string, unknown> | undefined {
  const query = Object.fromEntries(call.query);
  if (call.body === '') return query;
  if (call.headers['content-type']?.startsWith('application/x-www-form-urlencoded')) {
    return { ...query, ...Object.fromEntries(new URLSearchParams(call.body)) };
  }
  const body = jsonObject(call.body);
  return body === undefined ? undefined : { ...query, ...body };
}

function posted(messageId: number, { chatId, text }: Message, receivedMs: number): Record<string, unknown> {
  const numeric = Number(chatId);
  return {
    message_id: messageId,
    from: { id: 1, is_bot: true, first_name: 'Sandbox', username: 'sandbox_bot' },
    chat: { id: Number.isSafeInteger(numeric) ? numeric : chatId, type: chatId.startsWith('-') ? 'group' : 'private' },
    date: Math.floor(receivedMs / 1000),
    text,
  };
}
