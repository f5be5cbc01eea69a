// The one search box. What is typed goes out in a request's body and stays in this tab's memory: it is in no address, no storage and no history.
import { useMutation } from '@tanstack/react-query';
import { createContext, type ReactNode, type RefObject, useContext, useMemo, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { post } from '../api/client.js';
import type { SearchHit } from '../api/types.js';

export type Kind = 'auto' | 'email' | 'phone';

interface Finder {
  text: string;
  setText: (text: string) => void;
  kind: Kind;
  setKind: (kind: Kind) => void;
  hits: SearchHit[] | undefined;
  /** Services that did not answer: what only they know is not among the hits. */
  unavailable: readonly string[];
  error: unknown;
  busy: boolean;
  run: () => void;
  input: RefObject<HTMLInputElement | null>;
}

const FinderContext = createContext<Finder | undefined>(undefined);

export function useFinder(): Finder {
  const finder = useContext(FinderContext);
  if (finder === undefined) throw new Error('no search box around this');
  return finder;
}

export function FinderProvider({ children }: { children: ReactNode }) {
  const [text, setText] = useState('');
  const [kind, setKind] = useState<Kind>('auto');
  const input = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  const { data, error, isPending, mutate } = useMutation({
    mutationFn: (asked: { text: string; kind: Kind }) => post<{ items: SearchHit[]; unavailable?: string[] }>('search', asked),
    onSuccess: ({ items }) => {
      const [first] = items;
      const one = first !== undefined && items.every(({ event_id }) => event_id === first.event_id);
      if (one) setText('');
      void navigate(one ? `/leads/${first.event_id}` : '/search');
    },
    onError: () => void navigate('/search'),
  });
  const finder = useMemo<Finder>(() => {
    const run = () => text.trim() !== '' && mutate({ text: text.trim(), kind });
    return { text, setText, kind, setKind, hits: data?.items, unavailable: data?.unavailable ?? [], error, busy: isPending, run, input };
  }, [text, kind, data, error, isPending, mutate]);
  return <FinderContext value={finder}>{children}</FinderContext>;
}

export function SearchBox() {
  const { text, setText, run, busy, input } = useFinder();
  return (
    <search className="find">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <label htmlFor="find" className="sr">
          Find a lead by any id, e-mail address or phone number
        </label>
        <input
          id="find"
          ref={input}
          type="search"
          autoComplete="off"
          spellCheck={false}
          maxLength={320}
          placeholder="Find a lead: any id, e-mail or phone"
          value={text}
          aria-busy={busy}
          onChange={(event) => setText(event.target.value)}
        />
        <span className="hint" aria-hidden="true">
          /
        </span>
      </form>
    </search>
  );
}
