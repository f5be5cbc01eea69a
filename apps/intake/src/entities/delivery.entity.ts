import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DeliveryState } from '#contracts';
import type { KnownOperation } from '../journey/journey.js';

/** The last that intake knows of a delivery. Its owner knows better. */
@Entity('delivery')
export class DeliveryRow {
  @PrimaryColumn('uuid', { name: 'event_id' })
  eventId!: string;

  @PrimaryColumn('text')
  destination!: string;

  @Column('text')
  state!: DeliveryState;

  @Column('text', { nullable: true })
  class!: string | null;

  @Column('text', { nullable: true })
  code!: string | null;

  @Column('jsonb')
  operations!: KnownOperation[];

  @Column('timestamptz', { name: 'as_of' })
  asOf!: Date;
}
