import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../api/client.js';
import { say } from './toasts.js';

interface Change<T, A> {
  act: (input: A) => Promise<T>;
  /** What to tell when it was done. */
  done: string | ((answer: T) => string);
  /** First words of the keys of what has to be asked again. */
  stale: readonly string[];
  /** Where a dialog shows the refusal itself. */
  quiet?: boolean;
}

/** An action: it tells what came of it, and what is on the screen is asked again whether it went well or not. */
export function useChange<T, A = void>({ act, done, stale, quiet = false }: Change<T, A>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: (answer) => say(typeof done === 'string' ? done : done(answer)),
    onError: (error) => {
      if (!quiet) say(error instanceof ApiError ? [error.message, error.detail].filter(Boolean).join('. ') : 'This did not work', 'dead');
    },
    onSettled: () => client.invalidateQueries({ predicate: ({ queryKey }) => stale.includes(String(queryKey[0])) }),
  });
}
