import { Choice } from '../../parts/field.js';
import { TypedFilter } from '../../parts/typed-filter.js';
import { sentence } from '../../parts/words.js';
import { useQueueFilter } from './use-filter.js';

const typed = ['class', 'destination', 'code', 'schema_id', 'owner', 'assignee', 'organization'] as const;
const absences = ['no_code', 'no_schema_id'] as const;

export function Filters() {
  const { filter, set, clear } = useQueueFilter();
  const without = absences.find((name) => filter[name] !== undefined);
  const used = without !== undefined || [...typed, 'group' as const].some((name) => filter[name] !== undefined);
  return (
    <section className="toolbar" aria-label="Filter">
      <Choice
        label="View"
        value={filter.view}
        options={[
          ['groups', 'groups'],
          ['list', 'one by one'],
        ]}
        onChange={(view) => set({ view: view === 'list' ? 'list' : '' })}
      />
      {typed.map((name) => (
        <TypedFilter
          key={`${name}${filter[name] ?? ''}`}
          label={sentence(name)}
          value={filter[name] ?? ''}
          onSet={(value) => set({ [name]: value })}
        />
      ))}
      <Choice
        label="Without"
        value={without ?? ''}
        options={[
          ['', 'any'],
          ['no_code', 'a code'],
          ['no_schema_id', 'a schema id'],
        ]}
        onChange={(name) => set({ ...Object.fromEntries(absences.map((one) => [one, ''])), ...(name !== '' && { [name]: 'true' }) })}
      />
      {filter.view === 'list' && (
        <Choice
          label="Order"
          value={filter.order ?? 'oldest'}
          options={[
            ['oldest', 'oldest first'],
            ['newest', 'newest first'],
            ['due', 'by the time for an answer'],
          ]}
          onChange={(order) => set({ order })}
        />
      )}
      {used && (
        <button type="button" onClick={clear}>
          Clear
        </button>
      )}
    </section>
  );
}
