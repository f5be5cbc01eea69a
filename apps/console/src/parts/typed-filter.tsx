import { useId, useState } from 'react';

/** Takes effect on Enter or when it is left. To be given a key with its value, so that it follows the address. */
export function TypedFilter({ label, value, onSet }: { label: string; value: string; onSet: (value: string) => void }) {
  const id = useId();
  const [text, setText] = useState(value);
  const take = () => text.trim() !== value && onSet(text.trim());
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        value={text}
        maxLength={200}
        autoComplete="off"
        placeholder="any"
        onChange={(event) => setText(event.target.value)}
        onBlur={take}
        onKeyDown={(event) => event.key === 'Enter' && take()}
      />
    </div>
  );
}
