import { useEffect, useState } from 'react';
import { duration } from './words.js';

const full = new Intl.DateTimeFormat('en-GB', {
  day: '2-digit',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
});

/** A moment within a sentence that takes text alone. */
export const moment = (at: string): string => full.format(new Date(at));

/** A moment in the person's own zone, named; the tooltip has it in UTC to the millisecond. */
export function When({ at, absent = '–' }: { at: string | null | undefined; absent?: string }) {
  if (!at) return <span className="quiet">{absent}</span>;
  return (
    <time dateTime={at} title={at} className="nowrap">
      {full.format(new Date(at))}
    </time>
  );
}

/** Now, again every `everyMs`. */
export function useNow(everyMs = 10_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** How long ago, or how long until. */
export function Ago({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <span className="quiet">–</span>;
  const ms = now - new Date(at).getTime();
  return (
    <time dateTime={at} title={full.format(new Date(at))} className="nowrap">
      {ms >= 0 ? `${duration(ms)} ago` : `in ${duration(-ms)}`}
    </time>
  );
}
