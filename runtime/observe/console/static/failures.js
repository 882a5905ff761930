// The failures of agents, with their texts and stacks.

import { alertText, duration, h, missing, name, number, replace, when } from './dom.js';
import { get, poll, problem } from './api.js';
import { code } from './conversation.js';
import { link } from './conversations.js';

/** failures returns a section whose method set shows a list of failures. */
export function failures() {
  const list = h('ul', { class: 'plain' });
  const section = h('section', { class: 'failures', 'aria-labelledby': 'failures' }, h('h2', { id: 'failures' }, 'Failures'), list);
  let drawn = '';
  section.set = (all, empty) => {
    const now = JSON.stringify(all);
    if (now === drawn) return; // an opened stack stays open
    drawn = now;
    replace(list, all.length ? all.map(entry) : h('li', { class: 'note' }, empty));
  };
  return section;
}

function entry(f) {
  const of = f.directive ? `supervisor: ${f.directive}` : [f.protocol, f.job].filter(Boolean).join(' ');
  return h('li', {},
    when(f.time), ' ', h('a', { href: `#/agents/${encodeURIComponent(f.agent)}` }, name(f.agent)), ' ', h('span', { class: 'state bad' }, of || '–'),
    f.after_seconds ? ` after ${duration(1000 * f.after_seconds)}` : '', f.peer ? [' for ', name(f.peer)] : '', f.conversation_id ? [' in ', link(f.conversation_id)] : '',
    code(f.reason || 'no text'), f.stack ? h('details', {}, h('summary', {}, 'Stack'), code(f.stack)) : '');
}

/** agent shows one agent: its counts and its failures. */
export function agent(root, { signal, id }) {
  const facts = h('p', { class: 'count', role: 'status' });
  const section = failures();
  const to = (view) => `#/${view}?agent=${encodeURIComponent(id)}`;
  root.append(h('div', { class: 'title' }, h('h1', {}, 'Agent ', name(id))), facts,
    h('p', {}, h('a', { href: to('conversations') }, 'Its conversations'), ', ', h('a', { href: to('refusals') }, 'refusals and dead letters')), section);
  poll(async () => {
    const [all, list] = await Promise.all([get('agents', {}, signal), get('failures', { agent: id }, signal)]);
    const a = all.agents.find((one) => one.agent.toLowerCase() === id.toLowerCase());
    replace(facts, a ? ['On node ', name(a.node), `: ${number(a.running)} jobs run, ${number(a.errors)} errors, ${number(a.restarts)} restarts since it started`] : 'No such agent is found now.', missing(list));
    section.set(list.failures, 'None is recorded.');
  }, 2000, signal, (err) => alertText(err ? problem(err) : ''));
  return `Agent ${id}`;
}
