import type { Summary } from '../../api/types.js';
import { Ago, When } from '../../parts/when.js';

/** The answer before the evidence: what happened, what happens next, when, who has to act, who has seen what. */
export function Story({ summary }: { summary: Summary }) {
  return (
    <section className="panel story" aria-label="Summary">
      <p>{summary.what_happened}</p>
      <dl>
        <div>
          <dt>What happens next</dt>
          <dd>{summary.next}</dd>
        </div>
        <div>
          <dt>When</dt>
          <dd>
            {summary.when ? (
              <>
                <When at={summary.when} /> (<Ago at={summary.when} />)
              </>
            ) : (
              'No time is set'
            )}
          </dd>
        </div>
        <div>
          <dt>Whose turn it is</dt>
          <dd>{summary.who}</dd>
        </div>
        <div>
          <dt>The customer has seen</dt>
          <dd>{summary.seen_by_customer}</dd>
        </div>
        <div>
          <dt>Sales have seen</dt>
          <dd>{summary.seen_by_sales}</dd>
        </div>
      </dl>
    </section>
  );
}
