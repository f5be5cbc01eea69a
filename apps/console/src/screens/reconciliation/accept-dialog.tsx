import { post } from '../../api/client.js';
import type { Discrepancy } from '../../api/types.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { useChange } from '../../parts/use-change.js';

interface Props {
  discrepancies: readonly Discrepancy[];
  name: string;
  onClose: () => void;
}

/** Says that what stands at the destination is right. Each is accepted by itself; the first that is refused ends it. */
export function AcceptDialog({ discrepancies, name, onClose }: Props) {
  const { mutateAsync } = useChange({
    act: async (reason: string) => {
      for (const { discrepancy_id: id } of discrepancies) await post(`reconciliation/discrepancies/${id}/accept`, { reason });
    },
    done: 'Accepted as it is',
    stale: ['reconciliation', 'lead', 'overview', 'audit'],
    quiet: true,
  });
  return (
    <ReasonDialog
      title={`Accept ${name} as it is`}
      about="Nothing is changed, here or at the destination. Later runs do not report it again as long as it stays as it is."
      action="Accept"
      onClose={onClose}
      onDo={(reason) => mutateAsync(reason)}
    />
  );
}
