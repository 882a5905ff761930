// The frame around the views: routes, the token and what is shown above a view.

import { get, hasToken, poll, setToken, tellAgain } from './api.js';
import { alertText, h, replace } from './dom.js';
import { agents } from './agents.js';
import { approvals } from './approvals.js';
import { conversation } from './conversation.js';
import { agent } from './failures.js';
import { conversations } from './conversations.js';
import { overview } from './overview.js';
import { refusals } from './refusals.js';

const views = { '': overview, agents, conversations, approvals, refusals };
const main = document.getElementById('main');
const live = document.getElementById('live');
const dialog = document.getElementById('token-dialog');

let leave = new AbortController();
let shownBefore = false;

/** route returns the path and the query of the address: "#/conversations?live=true". */
function route() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const [view, id] = path.split('/', 2);
  let decoded = id;
  try {
    decoded = id && decodeURIComponent(id);
  } catch {
    // The text of the address is no encoding: take it as it is.
  }
  return { view, id: decoded, query: new URLSearchParams(query) };
}

function show() {
  leave.abort();
  tellAgain();
  leave = new AbortController();
  const { view, id, query } = route();
  const make = (id && { conversations: conversation, agents: agent }[view]) || views[view];
  alertText('');
  setLive('');
  main.replaceChildren();
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === `#/${view}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const frame = { signal: leave.signal, query, id, live: setLive, setQuery };
  const title = make ? make(main, frame) : 'Not found';
  if (!make) main.append(h('h1', {}, title), h('p', {}, 'There is no such view. ', h('a', { href: '#/' }, 'Begin with the overview.')));
  main.dataset.at = location.hash; // for the tests
  document.title = `${title} – Ribosome`;
  if (shownBefore) main.focus({ preventScroll: true });
  shownBefore = true;
}

function setLive(text) {
  if (live.textContent === text) return;
  live.className = `stream ${text.replaceAll(' ', '-')}`;
  replace(live, text);
}

/** setQuery enters the filters of a view into its address, without a new entry in the history. */
function setQuery(query) {
  const { view, id } = route();
  const text = new URLSearchParams(Object.entries(query).filter(([, v]) => v)).toString();
  history.replaceState(null, '', `#/${view}${id ? `/${encodeURIComponent(id)}` : ''}${text ? `?${text}` : ''}`);
}

function askToken(reason) {
  replace(document.getElementById('token-reason'), reason);
  if (dialog.open) return;
  document.getElementById('token-input').value = '';
  dialog.showModal();
}

document.getElementById('token').addEventListener('click', () => askToken(hasToken() ? 'A token is in use. Another one replaces it.' : ''));
document.getElementById('token-cancel').addEventListener('click', () => dialog.close());
document.getElementById('token-forget').addEventListener('click', () => {
  setToken('');
  dialog.close();
  show();
});
document.getElementById('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  setToken(document.getElementById('token-input').value);
  document.getElementById('token-input').value = '';
  dialog.close();
  show();
});
document.getElementById('skip').addEventListener('click', () => main.focus());
addEventListener('unauthorized', (event) => askToken(event.detail));
addEventListener('hashchange', show);
show();

poll(async () => {
  const node = await get('node', {}, new AbortController().signal);
  replace(document.getElementById('node'), node.node);
}, 30000, new AbortController().signal, () => {});
