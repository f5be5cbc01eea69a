import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { FailureClass } from '#contracts';
import type { FieldProblem } from '#runtime';

/** A record of the topic `leads` that was refused; what it said lies sealed beside it. */
@Entity('rejected')
export class Rejected {
  @PrimaryColumn('uuid', { name: 'rejected_id' })
  rejectedId!: string;

  @Column('text', { nullable: true })
  organization!: string | null;

  @Column('text', { nullable: true })
  source!: string | null;

  @Column('text', { name: 'external_ref', nullable: true })
  externalRef!: string | null;

  @Column('text')
  class!: FailureClass;

  @Column('text')
  code!: string;

  @Column('jsonb')
  errors!: FieldProblem[];

  @Column('timestamptz', { name: 'rejected_at' })
  rejectedAt!: Date;
}
