import { useId, useState } from 'react';
import { looksPersonal, searchBoxInstead } from './personal.js';

/** Takes effect on Enter or when it is left, unless it looks like a person's. To be given a key with its value, so that it follows the address. */
export function TypedFilter({ label, value, onSet }: { label: string; value: string; onSet: (value: string) => void }) {
  const id = useId();
  const [text, setText] = useState(value);
  const [refused, setRefused] = useState(false);
  const take = () => {
    const typed = text.trim();
    setRefused(looksPersonal(typed));
    if (typed !== value && !looksPersonal(typed)) onSet(typed);
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        value={text}
        maxLength={200}
        autoComplete="off"
        placeholder="any"
        aria-invalid={refused}
        onChange={(event) => setText(event.target.value)}
        onBlur={take}
        onKeyDown={(event) => event.key === 'Enter' && take()}
      />
      {refused && <span role="alert">{searchBoxInstead}</span>}
    </div>
  );
}
