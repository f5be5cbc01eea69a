import { dropRefreshFunctionDdl, type FilterIndex, refreshFunctionDdl } from './bloom-filters.js';

export const attemptFilters: FilterIndex = { table: 'attempt', index: 'attempt_find', pagesPerRange: 32 };

/**
 * Additions to the tables of the delivery engine for people who look for a lead.
 *
 * - `delivery.origin`: topic, partition and offset of the record that brought it first, as `topic/partition/offset`.
 * - `attempt_find`: one Bloom filter per column for each 32 pages of the log of attempts. Writing costs next to nothing, since the log only grows at its
 *   end and filters are made afterwards; a search reads all filters and then the pages that may hold the value (under 10 ms among a million
 *   rows). A B-tree or hash of the same three random columns would add a page write each to every call.
 */
export const findDdl = `
ALTER TABLE delivery ADD COLUMN origin text;
CREATE INDEX attempt_find ON attempt USING brin (
  attempt_id uuid_bloom_ops (n_distinct_per_range = 1200, false_positive_rate = 0.001),
  trace_id text_bloom_ops (n_distinct_per_range = 1200, false_positive_rate = 0.001),
  destination_ref text_bloom_ops (n_distinct_per_range = 1200, false_positive_rate = 0.001)
) WITH (pages_per_range = ${attemptFilters.pagesPerRange}, autosummarize = on);
${refreshFunctionDdl(attemptFilters)};
`;

/** Takes back {@link findDdl}. */
export const findDdlDown = `${dropRefreshFunctionDdl(attemptFilters)}; DROP INDEX attempt_find; ALTER TABLE delivery DROP COLUMN origin;`;
