import type { AttemptItem, HistoryItem } from '#delivery';
import type { Letter } from './letter.js';

const failedStates = ['dead', 'expired', 'uncertain'];

/** The letter with what its owner knows of it: operations, every call, and what the last failing one was answered. */
export function withHistory(letter: Letter, history: HistoryItem | undefined): Letter {
  if (history === undefined) return letter;
  const { operations, attempts } = history;
  const failed = operations.find(({ operation_key }) => operation_key === letter.operationKey) ?? operations.find(isFailed);
  const calls = attempts.filter(({ operation_key }) => operation_key === failed?.operation_key);
  return {
    ...letter,
    operationKey: letter.operationKey ?? failed?.operation_key,
    operationKind: failed?.kind ?? letter.operationKind,
    attempts: Math.max(letter.attempts, failed?.attempts ?? 0),
    code: letter.code ?? history.code,
    status: letter.status ?? lastOf(calls, ({ status }) => status),
    providerRequestId: lastOf(calls, ({ provider_request_id }) => provider_request_id),
    submittedAt: letter.submittedAt ?? new Date(history.submitted_at),
    operations,
    history: attempts,
  };
}

const isFailed = ({ state }: { state: string }): boolean => failedStates.includes(state);

function lastOf<T>(attempts: readonly AttemptItem[], value: (attempt: AttemptItem) => T | undefined): T | undefined {
  for (const attempt of attempts.toReversed()) {
    const found = value(attempt);
    if (found !== undefined) return found;
  }
  return undefined;
}
