import { useSyncExternalStore } from 'react';

interface Toast {
  id: number;
  text: string;
  tone: 'ok' | 'dead';
}

/** How long a good message stays; a bad one stays until it is put away. */
const shownForMs = 6_000;
let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function put(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const dismiss = (id: number): void => put(toasts.filter((toast) => toast.id !== id));

/** Tells what came of an action, to eyes and to screen readers. */
export function say(text: string, tone: Toast['tone'] = 'ok'): void {
  const id = nextId++;
  put([...toasts.slice(-3), { id, text, tone }]);
  if (tone === 'ok') setTimeout(() => dismiss(id), shownForMs);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <section className="toasts" aria-live="polite" aria-label="Messages">
      {shown.map(({ id, text, tone }) => (
        <div key={id} className={`toast tone-${tone}`}>
          <span>{text}</span>
          <button type="button" className="plain" onClick={() => dismiss(id)} aria-label="Put this message away">
            ×
          </button>
        </div>
      ))}
    </section>
  );
}
