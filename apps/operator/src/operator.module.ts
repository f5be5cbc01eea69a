import { type DynamicModule, Module } from '@nestjs/common';
import type { Area } from './area.js';
import { DeadLetterInbox } from './dead-letters/dead-letter-inbox.js';
import { DeadLettersController } from './dead-letters/dead-letters.controller.js';

/** What the controllers work with. */
export interface OperatorParts {
  inbox: DeadLetterInbox;
  areas: readonly Area[];
}

@Module({})
class OperatorModule {}

/** Nest at the edge: it finds the controllers and hands them their parts, nothing more. */
export function operatorModule({ inbox, areas }: OperatorParts): DynamicModule {
  return {
    module: OperatorModule,
    controllers: [DeadLettersController, ...areas.flatMap(({ controllers = [] }) => controllers)],
    providers: [{ provide: DeadLetterInbox, useValue: inbox }, ...areas.flatMap(({ providers = [] }) => providers)],
  };
}
