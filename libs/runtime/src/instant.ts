import { z } from 'zod';

/**
 * A moment that a person or a program names: RFC 3339 with an offset. Comes out in UTC, so that PostgreSQL reads it whatever was written: it knows
 * no offset of 16 hours and more, no year 0 and, written this way, none after 9999.
 */
export const instant = z.iso
  .datetime({ offset: true })
  .refine((text) => isWithin(new Date(text).getUTCFullYear()), {
    abort: true,
    params: { problem: 'lies outside the years 1 to 9999', fix: 'Write a time within them' },
  })
  .overwrite((text) => new Date(text).toISOString());

function isWithin(year: number): boolean {
  return year >= 1 && year <= 9_999;
}
