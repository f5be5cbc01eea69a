import { type ReactNode, useId, useState } from 'react';
import { Modal } from './modal.js';
import { Failure } from './small.js';

interface ReasonDialogProps {
  title: string;
  /** What will happen and what will not. */
  about: ReactNode;
  action: string;
  tone?: 'primary' | 'danger';
  /** Further fields, named; they come to `onDo` by name. */
  children?: ReactNode;
  /** What the reason is called, when it is a note rather than a reason. */
  label?: string;
  /** What stands there already. */
  defaultReason?: string;
  onDo: (reason: string, fields: FormData) => Promise<unknown>;
  onClose: () => void;
}

const shortestReason = 3;
const longestReason = 200;

/** Asks for the reason of a change, does it, and stays open with the refusal when it was refused. */
export function ReasonDialog(props: ReasonDialogProps) {
  const { title, about, action, tone = 'primary', children, label = 'Reason', defaultReason, onDo, onClose } = props;
  const id = useId();
  const [state, setState] = useState<{ busy: boolean; short: boolean; error?: unknown }>({ busy: false, short: false });
  const submit = async (form: HTMLFormElement) => {
    const fields = new FormData(form);
    const reason = String(fields.get('reason') ?? '').trim();
    if (reason.length < shortestReason) return setState({ busy: false, short: true });
    setState({ busy: true, short: false });
    try {
      await onDo(reason, fields);
      onClose();
    } catch (error) {
      setState({ busy: false, short: false, error });
    }
  };
  return (
    <Modal title={title} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!state.busy) void submit(event.currentTarget);
        }}
      >
        <div className="quiet">{about}</div>
        {children}
        <div className="field">
          <label htmlFor={id}>{label}</label>
          <textarea
            id={id}
            name="reason"
            maxLength={longestReason}
            defaultValue={defaultReason}
            aria-invalid={state.short}
            aria-describedby={`${id}-help`}
          />
          <small id={`${id}-help`}>Stands in the audit with your name. Write no personal data.</small>
          {state.short && <span role="alert">Say in a few words why.</span>}
        </div>
        {state.error !== undefined && <Failure error={state.error} />}
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className={tone} aria-busy={state.busy}>
            {action}
          </button>
        </footer>
      </form>
    </Modal>
  );
}
