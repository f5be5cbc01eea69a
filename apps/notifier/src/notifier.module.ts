import { type DynamicModule, Module } from '@nestjs/common';
import { Desks } from './desks.js';
import { ResolvedLeadsController } from './resolved-leads.controller.js';
import { Silence } from './silence.js';

@Module({ controllers: [ResolvedLeadsController] })
class NotifierModule {}

/** Nest at the edge: it finds the controller and hands it what it works with, nothing more. */
export function notifierModule(desks: Desks, silence: Silence): DynamicModule {
  return {
    module: NotifierModule,
    providers: [
      { provide: Desks, useValue: desks },
      { provide: Silence, useValue: silence },
    ],
  };
}
