import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Which lead a source's own id stands for. */
@Entity('intake_key')
export class IntakeKeyRow {
  @PrimaryColumn('text')
  organization!: string;

  @PrimaryColumn('text')
  source!: string;

  @PrimaryColumn('text', { name: 'external_ref' })
  externalRef!: string;

  @Column('uuid', { name: 'event_id' })
  eventId!: string;
}
