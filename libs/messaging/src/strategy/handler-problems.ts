interface Handler {
  isEventHandler?: boolean;
  next?: unknown;
}

/** Why these handlers cannot serve these subscriptions, in plain words; empty when they can. */
export function handlerProblems(
  subscriptions: readonly { group: string; pattern: string }[],
  handlers: ReadonlyMap<string, Handler>,
): string[] {
  const problems: string[] = [];
  const groups = subscriptions.map(({ group }) => group);
  for (const group of new Set(groups.filter((name, at) => groups.indexOf(name) !== at))) {
    problems.push(`the group ${group} is subscribed twice`);
  }
  for (const { group, pattern } of subscriptions) {
    if (!handlers.has(pattern)) problems.push(`no @EventPattern('${pattern}') handler for the group ${group}`);
  }
  for (const [pattern, handler] of handlers) {
    if (!subscriptions.some((subscription) => subscription.pattern === pattern)) {
      problems.push(`the handler of '${pattern}' has no subscription and would never be called`);
    }
    if (handler.isEventHandler !== true) problems.push(`'${pattern}' is a request handler; there are only events here`);
    if (handler.next !== undefined) problems.push(`'${pattern}' has more than one handler; who settles the receipt?`);
  }
  return problems;
}
