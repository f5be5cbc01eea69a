import { type DynamicModule, Module } from '@nestjs/common';
import type { LeadResolved } from '#contracts';
import { DeliveryEngine } from '#delivery';
import { ResolvedLeadsController } from './resolved-leads.controller.js';
import { Silence } from './silence.js';

@Module({ controllers: [ResolvedLeadsController] })
class NotifierModule {}

/** Nest at the edge: it finds the controller and hands it what it works with, nothing more. */
export function notifierModule(engine: DeliveryEngine<LeadResolved>, silence: Silence): DynamicModule {
  return {
    module: NotifierModule,
    providers: [
      { provide: DeliveryEngine, useValue: engine },
      { provide: Silence, useValue: silence },
    ],
  };
}
