// What every failure class must have before anybody may meet it at night. Pure: the table, the tour's rows and the pages in, the faults out.
import type { FailurePolicy } from '#contracts';

export interface ClassFault {
  failureClass: string;
  problem: string;
}

export interface ClassFacts {
  classes: readonly string[];
  policies: Readonly<Record<string, Partial<FailurePolicy> | undefined>>;
  /** Row of the failure tour in which each class is seen. */
  rows: Readonly<Record<string, string | undefined>>;
  rowIds: readonly string[];
  /** Text of a page by its path from the root; undefined where there is none. */
  page(path: string): string | undefined;
}

/** What a page for whoever is on duty cannot do without. */
const parts = ['**You see**', '**It means**', '**Over when**'];

/** The faults of all classes, in the order of the list. */
export function classFaults(facts: ClassFacts): ClassFault[] {
  return facts.classes.flatMap((failureClass) => problemsOf(failureClass, facts).map((problem) => ({ failureClass, problem })));
}

function problemsOf(failureClass: string, { policies, rows, rowIds, page }: ClassFacts): string[] {
  const { owner, disposition, respondWithinMs, deleteAfterMs, runbook, nextAction } = policies[failureClass] ?? {};
  const row = rows[failureClass];
  const problems: (string | undefined | false)[] = [
    !owner && 'has no owner',
    !disposition && 'has no disposition',
    !isPositive(respondWithinMs) && 'has no response deadline',
    !isPositive(deleteAfterMs) && 'has no deletion deadline',
    isPositive(respondWithinMs) && isPositive(deleteAfterMs) && respondWithinMs >= deleteAfterMs && 'is deleted before anybody has to look',
    !nextAction && 'does not say what to do next',
    runbook === undefined ? 'has no runbook' : pageProblem(failureClass, runbook, page(runbook)),
    row === undefined
      ? 'has no row in the failure tour'
      : !rowIds.includes(row) && `is shown in the row ${row}, which the failure tour does not have`,
  ];
  return problems.filter((problem): problem is string => typeof problem === 'string');
}

const isPositive = (value: number | undefined): value is number => value !== undefined && value > 0;

function pageProblem(failureClass: string, path: string, text: string | undefined): string | undefined {
  if (text === undefined) return `names the runbook ${path}, which does not exist`;
  const missing = [...parts, `\`${failureClass}\``].filter((part) => !text.includes(part));
  return missing.length === 0 ? undefined : `has a runbook ${path} without ${missing.join(', ')}`;
}
