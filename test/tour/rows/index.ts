import { type RowId, rowIds } from '../row-ids.js';
import type { TourRow } from '../tour-row.js';
import { acceptingRows } from './accepting.js';
import { answerRows } from './answers.js';
import { crashRows } from './crashes.js';
import { networkRows } from './network.js';
import { periodRows } from './period.js';
import { replayRows } from './replays.js';

const all = [...acceptingRows, ...answerRows, ...networkRows, ...crashRows, ...replayRows, ...periodRows];

/** Every row, in the order of the list of ids. Throws when a row stands in the list and is not written, or is written twice. */
export function tourRows(): TourRow[] {
  return rowIds.map((id: RowId) => {
    const [row, ...twins] = all.filter((one) => one.id === id);
    if (row === undefined || twins.length > 0) throw new Error(`${id} is written ${twins.length === 0 ? 'nowhere' : 'twice'}`);
    return row;
  });
}
