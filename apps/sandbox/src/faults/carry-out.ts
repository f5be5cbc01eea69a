import { type Answer, type Exchange, sendAnswer } from '../http/call.js';
import type { Rule } from './rule.js';

export interface Work {
  /** Does the work and answers; the only place where something is stored. */
  commit(): Answer;
  /** The answer of a commit that never happened. */
  pretend(): Answer;
  /** Body of a refusal that a rule gave only a status for. */
  refusal(status: number): unknown;
  /** Called once, when the answer left or the connection broke. */
  finished(status: number | undefined): void;
}

/**
 * Handles one request as the rule says. Work is committed at arrival and the answer comes `latencyMs` later, so that a client
 * which gives up in between has caused its effect.
 */
export function carryOut({ res, span }: Exchange, fault: Rule | undefined, work: Work): void {
  const answer = overridden(wantsCommit(fault) ? work.commit() : work.pretend(), fault, work);
  const finish = (status: number | undefined): void => {
    span.set({ 'http.response.status_code': status });
    span.end(status === undefined ? { error: 'no answer' } : undefined);
    work.finished(status);
  };
  if (fault === undefined) {
    sendAnswer(res, answer);
    finish(answer.status);
    return;
  }
  let timer: NodeJS.Timeout | undefined;
  let status: number | undefined;
  res.once('close', () => {
    clearTimeout(timer);
    finish(status);
  });
  const respond = (): void => {
    if (fault.hang === true) return;
    if (fault.reset !== undefined) {
      res.socket?.resetAndDestroy();
      return;
    }
    status = answer.status;
    sendAnswer(res, answer);
  };
  if (fault.latencyMs) timer = setTimeout(respond, fault.latencyMs);
  else respond();
}

function wantsCommit(fault: Rule | undefined): boolean {
  if (fault?.reset === 'before') return false;
  if (fault?.dropCommit !== undefined) return !fault.dropCommit;
  return (fault?.status ?? 200) < 400;
}

function overridden(answer: Answer, fault: Rule | undefined, work: Work): Answer {
  if (fault === undefined) return answer;
  const status = fault.status ?? answer.status;
  const own = fault.status !== undefined && fault.status >= 400 ? work.refusal(fault.status) : answer.body;
  return { status, body: fault.body ?? own, headers: { ...answer.headers, ...fault.headers } };
}
