// The agents that discovery finds, with their mailboxes.

import { get, poll, problem } from './api.js';
import { alertText, duration, h, missing, name, number, replace } from './dom.js';
import { List } from './list.js';

const bands = ['urgent', 'high', 'normal', 'low'];

export function agents(root, { signal, query, setQuery }) {
  const list = new List({
    label: 'Agents', kind: 'agents', key: (a) => `${a.node}\n${a.agent}`, empty: 'No agent matches.',
    href: (a) => `#/conversations?agent=${encodeURIComponent(a.agent)}`,
    columns: [
      { title: 'Agent', cell: (a) => name(a.agent) },
      { title: 'Node', cell: (a) => name(a.node) },
      ...bands.map((band) => ({
        title: band[0].toUpperCase() + band.slice(1), align: 'right',
        cell: (a) => h('span', { class: a.queued?.[band] ? `queued ${band}` : 'zero', title: `${band} messages in the mailbox` }, number(a.queued?.[band])),
      })),
      { title: 'Waits', align: 'right', cell: (a) => (a.oldest_wait_s ? h('span', { title: 'the oldest message in the mailbox' }, duration(1000 * a.oldest_wait_s)) : h('span', { class: 'zero' }, '–')) },
      { title: 'Busy since', cell: (a) => (a.busy_since ? h('span', { class: 'bad', title: `its code blocks its actor: ${a.busy_with}` }, new Date(a.busy_since).toLocaleTimeString()) : h('span', { class: 'zero' }, '–')) },
      { title: 'Running', align: 'right', cell: (a) => number(a.running) },
      { title: 'Errors', align: 'right', cell: (a) => (a.errors ? h('a', { class: 'bad', href: `#/agents/${encodeURIComponent(a.agent)}`, tabindex: '-1' }, number(a.errors)) : h('span', { class: 'zero' }, number(a.errors))) },
      { title: 'Restarts', align: 'right', cell: (a) => (a.restarts ? h('a', { class: 'bad', href: `#/agents/${encodeURIComponent(a.agent)}`, tabindex: '-1' }, number(a.restarts)) : h('span', { class: 'zero' }, number(a.restarts))) },
      { title: 'Conversations', align: 'right', cell: (a) => h('a', { href: `#/conversations?live=true&agent=${encodeURIComponent(a.agent)}`, tabindex: '-1' }, number(a.conversations)) },
    ],
  });
  const input = h('input', { type: 'search', name: 'agent', value: query.get('agent'), autocomplete: 'off', spellcheck: 'false' });
  const count = h('div', { class: 'count', role: 'status' });
  let all = [];
  let view = {};
  function display() {
    const want = input.value.trim().toLowerCase();
    const some = all.filter((a) => a.agent.toLowerCase().includes(want));
    list.set(some);
    replace(count, `${number(some.length)} of ${number(all.length)} agents`, missing(view));
  }
  input.addEventListener('input', () => {
    list.forget();
    setQuery({ agent: input.value.trim() });
    display();
  });
  root.append(
    h('h1', {}, 'Agents'),
    h('form', { class: 'filters', role: 'search', 'aria-label': 'Filter agents', on: { submit: (e) => e.preventDefault() } }, h('label', {}, 'Agent ', input)),
    count, list.element,
  );
  poll(async () => {
    view = await get('agents', {}, signal);
    all = view.agents;
    display();
  }, 2000, signal, (err) => alertText(err ? problem(err) : ''));
  signal.addEventListener('abort', () => list.observer.disconnect());
  return 'Agents';
}
