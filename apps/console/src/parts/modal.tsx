import { type ReactNode, useEffect, useId, useRef } from 'react';

/** A dialog of the browser: it keeps the focus inside, closes on Escape, and gives the focus back to where it came from. */
export function Modal({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onClose={onClose}>
      <div className="inside" style={{ paddingBottom: 0 }}>
        <h2 id={titleId}>{title}</h2>
      </div>
      {children}
    </dialog>
  );
}
