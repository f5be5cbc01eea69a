import { useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { get } from '../../api/client.js';
import { type Correction, correctionStates, type Page } from '../../api/types.js';
import { Answer } from '../../parts/answer.js';
import { Choice } from '../../parts/field.js';
import { Pager } from '../../parts/pager.js';
import { Panel, ScreenHead } from '../../parts/small.js';
import { CorrectionTable } from './correction-table.js';

export function CorrectionsScreen() {
  const [params, setParams] = useSearchParams();
  const asked = { state: params.get('state') ?? undefined, after: params.get('after') ?? undefined };
  const query = useQuery({
    queryKey: ['corrections', 'list', asked],
    queryFn: ({ signal }) => get<Page<Correction>>('corrections', asked, signal),
    placeholderData: (before) => before,
  });
  return (
    <div className="screen">
      <ScreenHead
        title="Corrections"
        about="What a lead says, put right at one destination: drafted on the lead by one person, approved by another within a day."
      >
        <Choice
          label="State"
          value={asked.state ?? ''}
          options={[['', 'any'] as const, ...correctionStates.map((state) => [state, state] as const)]}
          onChange={(state) => setParams(state === '' ? {} : { state })}
        />
      </ScreenHead>
      <Panel>
        <Answer query={query}>
          {({ items, next }) => (
            <>
              <CorrectionTable corrections={items} />
              <Pager next={next} shown={items.length} />
            </>
          )}
        </Answer>
      </Panel>
    </div>
  );
}
