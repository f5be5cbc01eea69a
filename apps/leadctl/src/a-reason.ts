import { reasonText } from '#delivery';
import { ConfigError, describeIssues } from '#runtime';

/** Reads an option that is kept in the audit, up to `longest` characters. Throws ConfigError, which names the option and not its text. */
export function aReason(option: string, longest = 500): (text: string) => string {
  return (text) => {
    const parsed = reasonText.min(1).max(longest).safeParse(text);
    if (parsed.success) return parsed.data;
    throw new ConfigError(describeIssues(parsed.error.issues, text).map((problem) => ({ ...problem, path: option })));
  };
}
