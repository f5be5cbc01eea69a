import { type ComponentProps, useId } from 'react';

interface FieldProps extends ComponentProps<'input'> {
  label: string;
  help?: string;
}

export function Field({ label, help, ...input }: FieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input id={id} aria-describedby={help === undefined ? undefined : `${id}-help`} autoComplete="off" {...input} />
      {help !== undefined && <small id={`${id}-help`}>{help}</small>}
    </div>
  );
}

interface ChoiceProps {
  label: string;
  name?: string;
  value?: string;
  /** Value and what is shown. */
  options: readonly (readonly [string, string])[];
  onChange?: (value: string) => void;
}

export function Choice({ label, name, value, options, onChange }: ChoiceProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        name={name}
        {...(onChange === undefined ? { defaultValue: value } : { value, onChange: (event) => onChange(event.target.value) })}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
