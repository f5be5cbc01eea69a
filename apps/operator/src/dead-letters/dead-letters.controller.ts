import { Controller, Inject, UseFilters } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { groups } from '#contracts';
import { OriginalErrors, type Received } from '#messaging';
import { DeadLetterInbox } from './dead-letter-inbox.js';

/** What the group `operator.dlq` reads: the records of every dead-letter topic, as they are. */
@Controller()
@UseFilters(OriginalErrors)
export class DeadLettersController {
  constructor(@Inject(DeadLetterInbox) private readonly inbox: DeadLetterInbox) {}

  @EventPattern<string>(groups.operatorDlq)
  deadLetters(@Payload() received: Received<Buffer | null>[]): void {
    this.inbox.take(received);
  }
}
