import type { ReactNode } from 'react';
import { ApiError } from '../api/client.js';
import { say } from './toasts.js';
import { glyphOf, plain, shortId, type Tone, toneOf } from './words.js';

/** A state in a word and a sign. */
export function Chip({ state, tone = toneOf(state) }: { state: string; tone?: Tone }) {
  return (
    <span className={`chip tone-${tone}`}>
      <span aria-hidden="true">{glyphOf(tone)}</span>
      {plain(state)}
    </span>
  );
}

/** An id that can be taken along. */
export function Id({ value, label, whole = false }: { value: string; label: string; whole?: boolean }) {
  const copy = async () => {
    await navigator.clipboard.writeText(value);
    say(`${label} copied`);
  };
  return (
    <span className="copy">
      <code title={value}>{whole ? value : shortId(value)}</code>
      <button type="button" className="plain" onClick={() => void copy()} aria-label={`Copy ${label}`}>
        copy
      </button>
    </span>
  );
}

/** What stands where nothing is: why that is so and what would put something there. */
export function Teach({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="teach">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

const advice: Readonly<Record<number, string>> = {
  0: 'Look whether operator runs and whether this machine reaches it.',
  403: 'Ask somebody who has the permission, or an administrator for it. Access shows who may do what.',
  404: 'It may have been deleted after its retention, or it belongs to an organization that you may not see.',
  409: 'Something changed since this screen was loaded. Look at it again before you decide.',
  429: 'Wait a moment; the limit protects the services behind.',
  503: 'A service behind operator does not answer. Deliveries go on; the console tries again.',
};

/** A refusal or a failure in its own words, with what to do about it. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const known = error instanceof ApiError ? error : undefined;
  return (
    <div className="failure" role="alert">
      <strong>{known?.message ?? 'The console failed here'}</strong>
      {known?.detail !== undefined && <p>{known.detail}</p>}
      {known?.fields.map(({ field, problem, fix }) => (
        <p key={field + problem}>
          <code>{field}</code> {problem}. {fix}
        </p>
      ))}
      {known !== undefined && known.fields.length === 0 && <p className="quiet">{advice[known.status]}</p>}
      {known === undefined && (
        <p className="quiet">Load the page again; if it stays, the command line does the same: npm run leadctl -- help</p>
      )}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Head of a screen: what it is for in one sentence, and what can be done. */
export function ScreenHead({ title, about, children }: { title: ReactNode; about?: ReactNode; children?: ReactNode }) {
  return (
    <header className="screen-head">
      <div>
        <h1>{title}</h1>
        {about !== undefined && <p>{about}</p>}
      </div>
      {children !== undefined && <div className="row">{children}</div>}
    </header>
  );
}

export function Panel({ title, side, children }: { title?: ReactNode; side?: ReactNode; children: ReactNode }) {
  return (
    <section className="panel">
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {side}
        </header>
      )}
      {children}
    </section>
  );
}

/** `share`: 0 to 1. `bad`: it is not a share of what went well. */
export function Progress({ share, label, bad = false }: { share: number; label: string; bad?: boolean }) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
  return (
    <div
      className={bad ? 'bar tone-dead' : 'bar'}
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <i style={{ width: `${percent}%` }} />
    </div>
  );
}

/** Something goes on, and how much of it there will be is not known. */
export function Busy({ label }: { label: string }) {
  return (
    <div className="bar busy" role="progressbar" aria-label={label}>
      <i />
    </div>
  );
}

/** Counts by hour, oldest first. */
export function Spark({ values, label }: { values: readonly number[]; label: string }) {
  const most = Math.max(1, ...values);
  const width = 96 / Math.max(1, values.length);
  return (
    <svg className="spark" viewBox="0 0 96 22" role="img" aria-label={label}>
      {values.map((value, index) => {
        const height = value === 0 ? 1 : Math.max(2, (value / most) * 22);
        // biome-ignore lint/suspicious/noArrayIndexKey: the place in time is what identifies a bar
        return <rect key={index} x={index * width} y={22 - height} width={Math.max(1, width - 1)} height={height} />;
      })}
    </svg>
  );
}
