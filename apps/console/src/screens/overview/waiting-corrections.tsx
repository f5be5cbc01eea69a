import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { get } from '../../api/client.js';
import type { Correction, Page } from '../../api/types.js';
import { Panel } from '../../parts/small.js';
import { CorrectionTable } from '../corrections/correction-table.js';

const shownAtMost = 5;

/** Drafts that wait for a second person; nothing where there are none. */
export function WaitingCorrections() {
  const asked = { state: 'draft', limit: String(shownAtMost) };
  const { data } = useQuery({
    queryKey: ['corrections', 'list', asked],
    queryFn: ({ signal }) => get<Page<Correction>>('corrections', asked, signal),
  });
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Panel title="Corrections that wait for approval" side={<Link to="/corrections?state=draft">All of them</Link>}>
      <CorrectionTable corrections={data.items} />
    </Panel>
  );
}
