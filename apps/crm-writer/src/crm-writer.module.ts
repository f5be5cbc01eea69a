import { type DynamicModule, Module } from '@nestjs/common';
import { AcceptedLeadsController } from './accepted-leads.controller.js';
import { Engines } from './engines.js';

@Module({ controllers: [AcceptedLeadsController] })
class CrmWriterModule {}

/** Nest at the edge: it finds the controller and hands it its engines, nothing more. */
export function crmWriterModule(engines: Engines): DynamicModule {
  return { module: CrmWriterModule, providers: [{ provide: Engines, useValue: engines }] };
}
