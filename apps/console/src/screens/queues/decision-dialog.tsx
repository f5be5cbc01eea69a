import { post } from '../../api/client.js';
import type { LetterGroup } from '../../api/types.js';
import { Choice, Field } from '../../parts/field.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { useChange } from '../../parts/use-change.js';
import { number } from '../../parts/words.js';

export type Decision = 'assign' | 'note' | 'disposition';

/** Some letters by id, or all of a group. */
export interface Target {
  body: { ids: string[] } | { group: { key: string; as_of: string } };
  /** What it is called in a title. */
  name: string;
}

/** A decision that was begun, about what was on the screen when its button was pressed. */
export interface Deciding {
  decision: Decision;
  target: Target;
}

/** Who may decide: whoever may ask for a replay, and whoever may approve one. */
export const onDuty = ['replay_request', 'replay_approve'] as const;

/** The group as it was shown: what came later is not decided unseen. */
export const targetOfGroup = ({ key, count }: LetterGroup, asOf: string): Target => ({
  body: { group: { key, as_of: asOf } },
  name: count === 1 ? 'one letter' : `${count} letters`,
});
export const targetOfIds = (ids: string[]): Target => ({ body: { ids }, name: ids.length === 1 ? 'one letter' : `${ids.length} letters` });

const words: Readonly<Record<Decision, { title: string; about: string; action: string; label?: string }>> = {
  assign: { title: 'Assign', about: 'Whoever it is assigned to finds it by filtering for themselves.', action: 'Assign' },
  note: { title: 'Write a note on', about: 'Notes stay with the letter as long as it is kept.', action: 'Add the note', label: 'Note' },
  disposition: { title: 'Decide about', about: 'Says what shall become of it. Nothing is sent by this.', action: 'Record the decision' },
};

export function DecisionDialog({ decision, target, onClose }: Deciding & { onClose: () => void }) {
  const { title, ...rest } = words[decision];
  const { mutateAsync } = useChange({
    act: (body: unknown) => post<{ letters: number }>(`dead-letters/${decision}`, body),
    done: ({ letters }) => `Recorded for ${letters === 1 ? 'one letter' : `${number(letters)} letters`}`,
    stale: ['dead-letters', 'overview', 'audit', 'notes'],
    quiet: true,
  });
  return (
    <ReasonDialog
      {...rest}
      title={`${title} ${target.name}`}
      onClose={onClose}
      onDo={(reason, fields) => mutateAsync({ ...target.body, ...partOf(decision, reason, fields) })}
    >
      {decision === 'assign' && (
        <Field label="To whom" name="assignee" maxLength={200} help="Their subject, as Access shows it. Empty: nobody." />
      )}
      {decision === 'disposition' && (
        <Choice
          label="What shall become of it"
          name="disposition"
          options={[
            ['investigate', 'find out first'],
            ['approve_replay', 'replay once the cause is gone'],
            ['discard', 'let it be'],
          ]}
        />
      )}
    </ReasonDialog>
  );
}

function partOf(decision: Decision, reason: string, fields: FormData): Record<string, string> {
  if (decision === 'note') return { text: reason };
  if (decision === 'assign') return { assignee: String(fields.get('assignee') ?? ''), reason };
  return { disposition: String(fields.get('disposition')), reason };
}
