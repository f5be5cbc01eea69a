import { Choice } from '../../parts/field.js';
import { TypedFilter } from '../../parts/typed-filter.js';
import { plain } from '../../parts/words.js';
import type { DiscrepancyFilter } from './discrepancy-filter.js';
import { classWords } from './discrepancy-words.js';

const states = ['open', 'repairing', 'repaired', 'repair_failed', 'accepted', 'gone', 'any'] as const;
const typed = ['destination', 'owner', 'run_id', 'event_id'] as const;
const typedWords = { destination: 'Destination', owner: 'Owner', run_id: 'Run', event_id: 'Lead (event id)' } as const;

interface Props {
  filter: DiscrepancyFilter;
  onSet: (changes: DiscrepancyFilter) => void;
  onClear: () => void;
}

export function DiscrepancyFilters({ filter, onSet, onClear }: Props) {
  const used = Object.values(filter).some((value) => value !== undefined);
  return (
    <section className="toolbar" aria-label="Filter">
      <Choice
        label="State"
        value={filter.state ?? 'open'}
        options={states.map((state) => [state, plain(state)] as const)}
        onChange={(state) => onSet({ state: state === 'open' ? '' : state })}
      />
      <Choice
        label="What"
        value={filter.class ?? ''}
        options={[['', 'anything'] as const, ...Object.entries(classWords)]}
        onChange={(value) => onSet({ class: value })}
      />
      {typed.map((name) => (
        <TypedFilter
          key={`${name}${filter[name] ?? ''}`}
          label={typedWords[name]}
          value={filter[name] ?? ''}
          onSet={(value) => onSet({ [name]: value })}
        />
      ))}
      {used && (
        <button type="button" onClick={onClear}>
          Clear
        </button>
      )}
    </section>
  );
}
