/** The live page. Everything shown is written with `textContent`, and the policy below allows no inline script or foreign origin. */
export const pageHeaders = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-cache',
} as const;

export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sandbox: CRMs and chat</title>
<link rel="stylesheet" href="/page.css">
</head>
<body>
<header>
<h1>Sandbox</h1>
<p>Two pretend CRMs and a pretend chat. <span id="connection" role="status">Connecting…</span></p>
</header>
<main>
<section aria-labelledby="crm-title"><h2 id="crm-title">CRM</h2><dl id="crm-stats"></dl><ol id="crm-rows"></ol></section>
<section aria-labelledby="marketing-title"><h2 id="marketing-title">Marketing</h2><dl id="marketing-stats"></dl><ol id="marketing-rows"></ol></section>
<section aria-labelledby="chat-title"><h2 id="chat-title">Chat</h2><dl id="chat-stats"></dl><ol id="chat-rows"></ol></section>
</main>
<noscript><p>This page fills itself by script. Without it, read <code>/crm/data</code>, <code>/marketing/data</code> and <code>/chat/messages</code>.</p></noscript>
<script src="/page.js"></script>
</body>
</html>
`;

export const pageCss = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 90rem; padding: 1rem; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
header p { margin: .25rem 0 1rem; opacity: .8; }
main { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); align-items: start; }
section { border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: .5rem; padding: 1rem; min-width: 0; }
dl { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 0 0 .75rem; }
dl div { display: flex; gap: .35rem; }
dt { opacity: .75; }
dd { margin: 0; font-variant-numeric: tabular-nums; font-weight: 600; }
dd.bad { color: #c62828; }
ol { list-style: none; margin: 0; padding: 0; }
li { border-top: 1px solid color-mix(in srgb, currentColor 15%, transparent); padding: .4rem 0; overflow-wrap: anywhere; white-space: pre-line; }
li small { display: block; opacity: .7; }
`;

export const pageScript = `'use strict';
const words = { duplicateEffects: 'duplicate effects', maxInFlight: 'most at once', inFlight: 'in flight' };
const bad = ['duplicateEffects', 'duplicates'];

function element(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

function showStats(id, stats) {
  const rows = Object.entries(stats).map(([name, value]) => {
    const row = document.createElement('div');
    const figure = element('dd', String(value));
    if (bad.includes(name) && value > 0) figure.className = 'bad';
    row.append(element('dt', words[name] || name), figure);
    return row;
  });
  document.getElementById(id).replaceChildren(...rows);
}

function showRows(id, rows) {
  const items = rows.map(({ head, foot }) => {
    const item = element('li', head);
    item.append(element('small', foot));
    return item;
  });
  document.getElementById(id).replaceChildren(...(items.length > 0 ? items : [element('li', 'Nothing yet.')]));
}

const time = (at) => new Date(at).toLocaleTimeString();
const trace = (row) => (row.traceparent ? ' · trace ' + row.traceparent.split('-')[1] : '');
const leadRow = (row) => ({
  head: 'Lead ' + (row.lead_ref || row.external_id) + (row.form ? ' · ' + row.form : '') + (row.message ? '\\n' + row.message : ''),
  foot: time(row.committed_at) + ' · ' + row.id + trace(row),
  at: row.committed_at,
});
const contactRow = (row) => ({
  head: 'Contact ' + [row.name, row.email, row.phone].filter(Boolean).join(' · '),
  foot: time(row.committed_at) + ' · ' + row.id + (row.updates ? ' · updated ' + row.updates + '×' : '') + trace(row),
  at: row.committed_at,
});

function showCrm(name, crm) {
  showStats(name + '-stats', crm.stats);
  const rows = [...crm.leads.map(leadRow), ...crm.contacts.map(contactRow)];
  showRows(name + '-rows', rows.sort((left, right) => right.at.localeCompare(left.at)));
}

const feed = new EventSource('/events');
const connection = document.getElementById('connection');
feed.onopen = () => { connection.textContent = 'Live.'; };
feed.onerror = () => { connection.textContent = 'Connection lost, trying again…'; };
feed.onmessage = (event) => {
  const picture = JSON.parse(event.data);
  showCrm('crm', picture.crm);
  showCrm('marketing', picture.marketing);
  showStats('chat-stats', picture.chat.stats);
  showRows('chat-rows', picture.chat.messages.map((row) => ({
    head: row.text,
    foot: time(row.received_at) + ' · message ' + row.message_id + ' · chat ' + row.chat_id + trace(row),
  })));
};
`;
