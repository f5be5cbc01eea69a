// The process of check-site-apart.ts: answers one question and ends.
import { attempt, ConfigError } from '#runtime';
import { checkSite } from './check-site.js';
import type { SiteAnswer, SiteQuestion } from './check-site-apart.js';

process.once('message', (question: SiteQuestion) => {
  const { problems } = attempt(() => checkSite(question));
  const answer: SiteAnswer = problems.length === 0 ? {} : { problems: new ConfigError(problems).message };
  process.send?.(answer, undefined, undefined, () => process.disconnect());
});
