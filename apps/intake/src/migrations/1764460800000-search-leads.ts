import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dropRefreshFunctionDdl, refreshFunctionDdl } from '#delivery';
import { leadFilters } from '../search/lead-filters.js';

/** Bloom filter of one column for each 64 pages of leads, which hold about 600. */
const filter = 'n_distinct_per_range = 700, false_positive_rate = 0.001';

/**
 * email_key, phone_key: the first 64 bits of the person key of the e-mail address and of the phone number, so that a lead is found by either
 * and neither can be read from it. The index keeps filters, not values: an insert costs next to nothing, since leads come in the order of
 * time and filters are made afterwards, and a search reads all filters and then the pages that may hold the value.
 */
const statements = [
  'alter table lead add column email_key bigint, add column phone_key bigint',
  `create index lead_find on lead using brin (
    email_key int8_bloom_ops (${filter}),
    phone_key int8_bloom_ops (${filter}),
    lead_ref text_bloom_ops (${filter}),
    supersedes_ref text_bloom_ops (${filter}),
    substr(traceparent, 4, 32) text_bloom_ops (${filter})
  ) with (pages_per_range = ${leadFilters.pagesPerRange}, autosummarize = on)`,
  refreshFunctionDdl(leadFilters),
];

export class SearchLeads1764460800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(dropRefreshFunctionDdl(leadFilters));
    await runner.query('drop index lead_find');
    await runner.query('alter table lead drop column email_key, drop column phone_key');
  }
}
