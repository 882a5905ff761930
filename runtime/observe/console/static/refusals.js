// Messages that were refused or could not be delivered, with their reasons.

import { follow, optional, problem, throttled } from './api.js';
import { link } from './conversations.js';
import { alertText, h, missing, name, number, replace, when } from './dom.js';
import { List } from './list.js';

const kinds = { refused: 'refused', dead_letter: 'dead letter' };
const most = 10000;

export function refusals(root, { signal, query: given, setQuery, live }) {
  const query = { agent: given.get('agent') || '', code: given.get('code') || '', kind: given.get('kind') || '' };
  const list = new List({
    label: 'Refusals and dead letters', kind: 'refusals', key: (r) => r.key, empty: 'There are none.',
    href: (r) => (r.conversation_id ? `#/conversations/${encodeURIComponent(r.conversation_id)}` : '#/refusals'),
    columns: [
      { title: 'Time', cell: (r) => when(r.time) },
      { title: 'Kind', cell: (r) => kinds[r.kind] || r.kind },
      { title: 'Code', cell: (r) => h('span', { class: r.code === 'duplicate' ? 'state' : 'state bad' }, r.code || '–') },
      { title: 'Act', cell: (r) => r.act || '–' },
      { title: 'From', cell: (r) => name(r.from) },
      { title: 'To', cell: (r) => name(r.to) },
      { title: 'Reason', cell: (r) => h('span', { title: r.text || null }, r.text || '–') },
      { title: 'Conversation', cell: (r) => (r.conversation_id ? link(r.conversation_id, { tabindex: '-1' }) : '–') },
    ],
  });
  const count = h('div', { class: 'count', role: 'status' });
  const field = (key, title) => h('label', {}, title, ' ', h('input', { type: 'search', name: key, value: query[key], autocomplete: 'off', spellcheck: 'false' }));
  const kind = h('select', { name: 'kind' }, Object.entries({ '': 'both', ...kinds }).map(([value, text]) => h('option', { value, selected: query.kind === value }, text)));
  const form = h('form', { class: 'filters', role: 'search', 'aria-label': 'Filter refusals', on: { submit: (e) => e.preventDefault() } },
    h('label', {}, 'Show ', kind), field('agent', 'Agent'), field('code', 'Code'));
  root.append(h('h1', {}, 'Refusals and dead letters'), form, count, list.element);

  let view = {}; // the latest answer
  let kept = []; // the node's list; undefined without one
  let heard = []; // since the view is open, where the node has no list
  const keyed = (r) => ({ ...r, key: `${r.time} ${r.seq} ${r.node} ${r.message_id} ${r.kind}` });

  function display() {
    const all = kept ?? heard.filter((r) => (!query.kind || r.kind === query.kind) && (!query.code || r.code === query.code) &&
      (!query.agent || [r.from, r.to].some((a) => a?.toLowerCase() === query.agent.toLowerCase())));
    list.set(all);
    replace(count, kept ? `${number(all.length)} listed` : `${number(all.length)} since this page is open: the node keeps no list of them`, missing(view));
  }

  async function read() {
    const all = [];
    for (let cursor = ''; all.length < most;) {
      const page = await optional('refusals', { ...query, limit: 1000, cursor }, signal);
      if (!page) {
        kept = undefined;
        break;
      }
      view = page;
      all.push(...page.refusals.map(keyed));
      kept = all;
      cursor = page.next;
      if (!cursor) break;
    }
    display();
  }
  const refresh = throttled(async () => {
    try {
      await read();
      alertText('');
    } catch (err) {
      if (!signal.aborted) alertText(problem(err));
    }
  }, 500, signal);

  let typing;
  form.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      list.forget();
      for (const [key, value] of new FormData(form)) query[key] = value.trim();
      setQuery(query);
      refresh();
    }, 250);
  });
  follow({}, {
    event: (event, data) => {
      if (event !== 'message.refused' && event !== 'message.dead_lettered') return;
      const m = data.message;
      heard.unshift(keyed({
        time: data.time, code: data.code, from: m.sender, to: m.receiver, act: m.message_type || m.performative, message_id: m.id, conversation_id: data.conversation_id,
        kind: event === 'message.refused' ? 'refused' : 'dead_letter',
      }));
      heard.length = Math.min(heard.length, most);
      if (kept) refresh();
      else display();
    },
    opened: refresh,
    state: live,
  }, signal);
  signal.addEventListener('abort', () => list.observer.disconnect());
  return 'Refusals and dead letters';
}
