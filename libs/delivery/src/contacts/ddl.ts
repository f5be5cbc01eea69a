import { contactBusy } from './busy.js';

/**
 * Who may write a person's record at a destination. `owner_key`: the operation that may be writing; `owner_hold_id`: its last acquisition, a
 * new one each time, so that what is said late of an earlier one frees nothing; `owner_fields`: what it carries. `contact_ref`: the destination's id of the person, once an operation brought one. `fields`: of
 * each field the submission that wrote it last. Fields are names with the rank of a submission, never values. A row is kept for 400 days after
 * the person's last lead: without it the next one would make a second record.
 */
export const contactsDdl = `
CREATE TABLE IF NOT EXISTS contact_state (
  person_key text COLLATE "C" NOT NULL,
  destination text COLLATE "C" NOT NULL,
  owner_key text COLLATE "C",
  owner_hold_id uuid,
  owner_fields jsonb,
  contact_ref text,
  fields jsonb NOT NULL DEFAULT '{}',
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (person_key, destination)
) WITH (fillfactor = 80);
CREATE INDEX IF NOT EXISTS delivery_contact_busy ON delivery (destination, record_key) WHERE state = 'waiting' AND code = '${contactBusy}';
`;
