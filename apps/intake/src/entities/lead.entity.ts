import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The part of a lead's row that queries need; the insert of a new lead is one statement of its own. */
@Entity('lead')
export class Lead {
  @PrimaryColumn('uuid', { name: 'event_id' })
  eventId!: string;

  @Column('text', { name: 'lead_ref' })
  leadRef!: string;

  @Column('text')
  organization!: string;

  @Column('text')
  source!: string;

  @Column('timestamptz', { name: 'submitted_at' })
  submittedAt!: Date;

  @Column('timestamptz', { name: 'accepted_at' })
  acceptedAt!: Date;

  @Column('bytea')
  event!: Buffer;
}
