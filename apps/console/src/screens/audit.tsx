import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { get } from '../api/client.js';
import type { AuditEntry, AuditReport, Page } from '../api/types.js';
import { Act } from '../parts/act.js';
import { Answer } from '../parts/answer.js';
import { Field } from '../parts/field.js';
import { Pager } from '../parts/pager.js';
import { looksPersonal, searchBoxInstead } from '../parts/personal.js';
import { Failure, Panel, ScreenHead, Teach } from '../parts/small.js';
import { When } from '../parts/when.js';
import { number, plain } from '../parts/words.js';

const filters = ['action', 'person', 'subject'] as const;

export function AuditScreen() {
  const [params, setParams] = useSearchParams();
  const asked = Object.fromEntries([...filters, 'after'].map((name) => [name, params.get(name) ?? undefined]));
  const query = useQuery({
    queryKey: ['audit', asked],
    queryFn: ({ signal }) => get<Page<AuditEntry>>('audit', asked, signal),
    placeholderData: (before) => before,
  });
  return (
    <div className="screen">
      <ScreenHead
        title="Audit"
        about="Who did or was refused what, newest first. Entries are written with the action itself and chained, so that an edit, a gap or a cut tail shows."
      />
      <Verify />
      <AuditFilter key={params.toString()} asked={asked} onSet={setParams} />
      <Panel>
        <Answer query={query}>
          {({ items, next }) => (
            <>
              <Entries entries={items} />
              <Pager next={next} shown={items.length} />
            </>
          )}
        </Answer>
      </Panel>
    </div>
  );
}

interface AuditFilterProps {
  asked: Record<string, string | undefined>;
  onSet: (filter: Record<string, string>) => void;
}

function AuditFilter({ asked, onSet }: AuditFilterProps) {
  const [refused, setRefused] = useState(false);
  const take = (form: FormData) => {
    const typed = filters.map((name): [string, string] => [name, String(form.get(name) ?? '').trim()]);
    const personal = typed.some(([, value]) => looksPersonal(value));
    setRefused(personal);
    if (!personal) onSet(Object.fromEntries(typed.filter(([, value]) => value !== '')));
  };
  return (
    <form
      className="toolbar"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault();
        take(new FormData(event.currentTarget));
      }}
    >
      <Field label="Action" name="action" defaultValue={asked.action} placeholder="any" />
      <Field label="Person" name="person" defaultValue={asked.person} placeholder="anybody" />
      <Field label="About" name="subject" defaultValue={asked.subject} placeholder="an id or a name" />
      <button type="submit">Filter</button>
      {refused && (
        <span role="alert" className="toned tone-dead">
          {searchBoxInstead}
        </span>
      )}
    </form>
  );
}

function Verify() {
  const [report, setReport] = useState<AuditReport>();
  const verify = useMutation({ mutationFn: () => get<AuditReport>('audit/verify'), onSuccess: setReport });
  return (
    <div className="row">
      <Act needs="list" busy={verify.isPending} onPress={() => verify.mutate()}>
        Verify the chain
      </Act>
      {verify.isError && <Failure error={verify.error} />}
      <span role="status">{report !== undefined && <Verdict report={report} />}</span>
    </div>
  );
}

function Verdict({ report: { ok, checked, unsealed, head, findings } }: { report: AuditReport }) {
  if (ok) {
    return (
      <span className="chip tone-ok">
        ✓ {number(checked)} entries are as they were written
        {head && `, up to number ${head.seq}`}
        {unsealed > 0 && `; ${unsealed} not sealed yet`}
      </span>
    );
  }
  return (
    <span className="failure">
      <strong>The audit is not as it was written</strong>
      {findings.map(({ kind, seq, detail }) => (
        <span key={`${kind}${seq}${detail}`}>
          {plain(kind)}
          {seq === undefined ? '' : ` at number ${seq}`}: {detail}
        </span>
      ))}
    </span>
  );
}

function Entries({ entries }: { entries: AuditEntry[] }) {
  if (entries.length === 0) {
    return (
      <Teach title="No entry is like that">
        <p>Every change, every reveal and every refusal for want of a permission stands here. Take a filter away to see more.</p>
      </Teach>
    );
  }
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Audit entries</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Person</th>
            <th scope="col">Action</th>
            <th scope="col">About</th>
            <th scope="col" className="num">
              Number
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.audit_id}>
              <td>
                <When at={entry.at} />
              </td>
              <td>
                {entry.person}
                {![entry.person, 'api'].includes(entry.caller) && <small>by way of {entry.caller}</small>}
              </td>
              <td>
                <code>{entry.action}</code>
              </td>
              <td style={{ overflowWrap: 'anywhere' }}>{about(entry.subject)}</td>
              <td className="num">{entry.seq ?? 'not sealed yet'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Longer lists are counted. */
const shownAtMost = 3;

function written(value: unknown): string {
  if (Array.isArray(value)) return value.length > shownAtMost ? `${value.length} of them` : value.map(written).join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, inner]) => `${plain(name)} ${written(inner)}`)
    .join(', ');
}

function about(subject: AuditEntry['subject']): string {
  return Object.entries(subject ?? {})
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${plain(name)} ${written(value)}`)
    .join(' · ');
}
