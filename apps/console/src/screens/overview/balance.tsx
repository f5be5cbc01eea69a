import { Link } from 'react-router';
import type { Overview } from '../../api/types.js';
import { Panel } from '../../parts/small.js';
import { Ago, When } from '../../parts/when.js';
import { number } from '../../parts/words.js';

const terms = [
  ['delivered', 'delivered'],
  ['open', 'on their way'],
  ['dead', 'dead'],
  ['expired', 'expired'],
  ['discarded', 'discarded'],
  ['erased', 'erased'],
] as const;

/** What was accepted is somewhere: the sum of the places, and whether it adds up. */
export function BalanceEquation({ balance, next }: { balance: Overview['balance']; next: string | undefined }) {
  if (balance === null && next !== undefined) {
    return (
      <p className="notice">
        No balance was taken yet: the next one is taken at <When at={next} />. It says whether every accepted lead is somewhere.
      </p>
    );
  }
  if (balance === null) {
    return (
      <p className="notice">
        No balance is there: it was not taken yet, or you do not see all organizations. <code>npm run leadctl -- balance</code> takes it
        now.
      </p>
    );
  }
  const { balanced, accepted, unaccounted, as_of } = balance;
  return (
    <Panel
      title="Every delivery is accounted for"
      side={
        as_of && (
          <span className="quiet">
            taken <Ago at={as_of} />
          </span>
        )
      }
    >
      <div className="equation">
        <Term value={accepted} name="accepted" />
        <span className="sign">=</span>
        {terms.map(([field, name], index) => (
          <span key={field} style={{ display: 'contents' }}>
            {index > 0 && <span className="sign">+</span>}
            <Term value={balance[field]} name={name} />
          </span>
        ))}
        <Verdict balanced={balanced} unaccounted={unaccounted} />
      </div>
    </Panel>
  );
}

function Term({ value, name }: { value: number | undefined; name: string }) {
  return (
    <div>
      <strong>{number(value)}</strong>
      <span>{name}</span>
    </div>
  );
}

function Verdict({ balanced, unaccounted }: { balanced: boolean | null; unaccounted: number | undefined }) {
  if (balanced === true) return <span className="chip tone-ok">✓ it adds up</span>;
  if (balanced === null) return <span className="chip">not known now</span>;
  return (
    <span className="row">
      <span className="chip tone-dead">× {number(unaccounted)} unaccounted for</span>
      <Link to="/audit?action=balance">what was found</Link>
    </span>
  );
}
