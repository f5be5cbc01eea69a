import { CreateIntake1764374400000 } from './1764374400000-create-intake.js';

/** The tables of intake, in order. Run by `leadctl migrate` in intake's own schema. */
export const migrations = [CreateIntake1764374400000];
