import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from './small.js';

/** What a query gave, or why there is nothing yet. An answer that is there stays while a newer one cannot be had, and says so. */
export function Answer<T>({ query, children }: { query: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  if (query.data !== undefined) {
    return (
      <>
        {query.isError && <Failure error={query.error} retry={() => void query.refetch()} />}
        {children(query.data)}
      </>
    );
  }
  if (query.isError) return <Failure error={query.error} retry={() => void query.refetch()} />;
  return (
    <p className="loading" role="status">
      Loading …
    </p>
  );
}
