import { type DynamicModule, Module } from '@nestjs/common';
import { DeadLetterInbox } from './dead-letters/dead-letter-inbox.js';
import { DeadLettersController } from './dead-letters/dead-letters.controller.js';
import { Desk } from './desk.js';
import { DeskController } from './http/desk.controller.js';

/** What the controllers work with. */
export interface OperatorParts {
  inbox: DeadLetterInbox;
  desk: Desk;
}

@Module({})
class OperatorModule {}

/** Nest at the edge: it finds the controllers and hands them their parts, nothing more. */
export function operatorModule({ inbox, desk }: OperatorParts): DynamicModule {
  return {
    module: OperatorModule,
    controllers: [DeadLettersController, DeskController],
    providers: [
      { provide: DeadLetterInbox, useValue: inbox },
      { provide: Desk, useValue: desk },
    ],
  };
}
