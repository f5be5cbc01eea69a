import type { FilterIndex } from '#delivery';

/** What leads are searched by: filters instead of a B-tree per column. */
export const leadFilters: FilterIndex = { table: 'lead', index: 'lead_find', pagesPerRange: 64 };
