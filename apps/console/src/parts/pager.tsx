import { useSearchParams } from 'react-router';
import { Act } from './act.js';

/** Pages by cursor, kept in the address: a page stays what it is while rows come in, and the browser's own back button goes back. */
export function Pager({ next, shown, name = 'after' }: { next: string | null | undefined; shown: number; name?: string }) {
  const [params, setParams] = useSearchParams();
  const go = (cursor: string | undefined) =>
    setParams((before) => {
      const after = new URLSearchParams(before);
      if (cursor === undefined) after.delete(name);
      else after.set(name, cursor);
      return after;
    });
  const first = params.get(name) === null;
  if (first && !next) return <div className="pager">{shown === 1 ? 'One, and no more' : `${shown}, and no more`}</div>;
  return (
    <nav className="pager" aria-label="Pages">
      <span>{shown} on this page</span>
      <span className="row">
        <Act needs="list" refused={first ? 'This is the first page' : undefined} onPress={() => go(undefined)}>
          First page
        </Act>
        <Act needs="list" refused={next ? undefined : 'This is the last page'} onPress={() => next && go(next)}>
          Next page
        </Act>
      </span>
    </nav>
  );
}
