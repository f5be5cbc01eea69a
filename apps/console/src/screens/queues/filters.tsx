import { Choice } from '../../parts/field.js';
import { TypedFilter } from '../../parts/typed-filter.js';
import { sentence } from '../../parts/words.js';
import { useQueueFilter } from './use-filter.js';

const typed = ['class', 'destination', 'code', 'owner', 'assignee', 'organization'] as const;

export function Filters() {
  const { filter, set, clear } = useQueueFilter();
  const used = typed.some((name) => filter[name] !== undefined) || filter.schema_id !== undefined || filter.group !== undefined;
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
