import { CreateNotifier1764374400000 } from './1764374400000-create-notifier.js';

/** The tables of notifier, in order. Run by `leadctl migrate` in notifier's own schema. */
export const migrations = [CreateNotifier1764374400000];
