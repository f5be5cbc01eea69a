import { NavLink, useParams } from 'react-router';
import { ScreenHead } from '../../parts/small.js';
import { sentence } from '../../parts/words.js';
import { Filters } from './filters.js';
import { GroupsView } from './groups-view.js';
import { ListView } from './list-view.js';
import { useQueueFilter } from './use-filter.js';

const tabs: Readonly<Record<string, string>> = {
  dead: 'Ended without their effect. Find the cause, mend it, then replay; or decide to let them be.',
  held: 'Wait because their destination is held, by a person or by its own protection. They go on by themselves when it is released. What came meanwhile lies on its topic: counted, and listed one by one.',
  uncertain:
    'Sent, but whether the destination wrote them is not known: looked up by themselves at first, then dead letters for somebody to look into. What is proved absent is sent again.',
  expired: 'Their deadline passed before they were written. A replay gives them a new one.',
  all: 'Everything that is open.',
};

export function QueuesScreen() {
  const { tab = 'dead' } = useParams();
  const { filter } = useQueueFilter();
  const about = tabs[tab] ?? tabs.all;
  return (
    <div className="screen">
      <ScreenHead title="Queues" about={about} />
      <nav className="tabs" aria-label="Queues">
        {Object.keys(tabs).map((name) => (
          <NavLink key={name} to={`/queues/${name}`}>
            {sentence(name)}
          </NavLink>
        ))}
      </nav>
      <Filters />
      {filter.view === 'list' ? <ListView tab={tab} /> : <GroupsView tab={tab} />}
    </div>
  );
}
