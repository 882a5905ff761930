// The node and its cluster at a glance.

import { get, optional, poll, problem } from './api.js';
import { alertText, clock, h, missing, name, number, replace, svg, when } from './dom.js';

const rates = [
  ['messages', 'Messages', ''], ['begun', 'Conversations begun', ''], ['ended', 'Conversations ended', ''],
  ['failed', 'Conversations failed', 'bad'], ['refused', 'Messages refused', 'bad'], ['dead_letters', 'Dead letters', 'bad'],
];

export function overview(root, { signal }) {
  const numbers = h('div', { class: 'cards' });
  const charts = h('div', { class: 'cards charts' });
  const members = h('tbody');
  const refusals = h('div');
  root.append(
    h('h1', {}, 'Overview'), numbers,
    h('section', { 'aria-labelledby': 'rates' }, h('h2', { id: 'rates' }, 'Rates'), charts),
    h('section', { 'aria-labelledby': 'members' }, h('h2', { id: 'members' }, 'Nodes'), h('div', { class: 'scroll' }, h('table', {},
      h('thead', {}, h('tr', {}, ['Node', 'Gossip', 'Links', 'Labels', 'State'].map((t) => h('th', { scope: 'col' }, t)))), members))),
    h('section', { 'aria-labelledby': 'latest' }, h('h2', { id: 'latest' }, 'Latest refusals'), refusals),
  );
  poll(async () => {
    const [node, cluster, samples, refused] = await Promise.all([
      get('node', {}, signal), get('members', {}, signal), optional('rates', {}, signal), optional('refusals', { limit: 5 }, signal),
    ]);
    replace(numbers, [
      card('Agents', node.agents), card('Agents elsewhere', node.remote_agents), card('Conversations under way', node.open_conversations, '#/conversations?live=true'),
      card('Handlers running', node.running_handlers), card('Messages refused', node.messages_refused, '#/refusals', node.messages_refused > 0),
      card('Dead letters', node.dead_letters, '#/refusals?kind=dead_letter', node.dead_letters > 0), card('Conversations recorded', node.recorder.conversations, '#/conversations'),
      card('Events not recorded', node.recorder.events_lost, null, node.recorder.events_lost > 0),
    ]);
    replace(charts, samples ? [rates.map(([key, title, kind]) => chart(title, kind, samples, key)), missing(samples)] : h('p', { class: 'note' }, 'This node does not serve rates. Its metrics have them.'));
    replace(members, cluster.members.map((m) => h('tr', {},
      h('td', {}, name(m.node)), h('td', {}, m.gossip || '–'), h('td', {}, m.links || '–'),
      h('td', {}, Object.entries(m.labels || {}).map(([k, v]) => h('span', { class: 'state' }, `${k}=${v}`))),
      h('td', {}, m.leaving ? 'leaving' : 'here'))));
    replace(refusals, latest(refused));
  }, 2000, signal, (err) => alertText(err ? problem(err) : ''));
  return 'Overview';
}

function latest(refused) {
  if (!refused) return h('p', { class: 'note' }, 'This node keeps no list of refusals. ', h('a', { href: '#/refusals' }, 'Follow them live.'));
  if (!refused.refusals.length) return h('p', { class: 'note' }, 'There are none.');
  return h('ul', { class: 'plain' }, refused.refusals.map((r) => h('li', {}, when(r.time), ' ', h('span', { class: 'state bad' }, r.code), ' ', name(r.from), ' → ', name(r.to), ' ', r.text || '')));
}

function card(title, value, href, bad) {
  const content = [h('span', { class: `value ${bad ? 'bad' : ''}` }, number(value)), h('span', { class: 'title' }, title)];
  return href ? h('a', { class: 'card', href }, content) : h('div', { class: 'card' }, content);
}

// chart draws the samples of one rate, per second, as a line.
function chart(title, kind, { interval_s: interval, samples }, key) {
  const width = 240;
  const height = 48;
  const values = samples.map((s) => s[key] / (interval || 1));
  const top = Math.max(1e-9, ...values);
  const x = (i) => (values.length > 1 ? (i * width) / (values.length - 1) : width);
  const points = values.map((v, i) => `${x(i).toFixed(1)},${(height - (v / top) * (height - 4) - 1).toFixed(1)}`).join(' ');
  const now = values.at(-1) ?? 0;
  const text = `${title}: ${rate(now)} per second now, ${rate(Math.max(0, ...values))} at most`;
  const since = samples.length ? `since ${clock(samples[0].time)}` : '';
  return h('figure', { class: 'card' },
    h('figcaption', {}, h('span', { class: `value ${kind && now > 0 ? 'bad' : ''}` }, rate(now), h('small', {}, ' /s')), h('span', { class: 'title' }, title)),
    svg('svg', { viewBox: `0 0 ${width} ${height}`, class: `chart ${kind}`, role: 'img', 'aria-label': text, preserveAspectRatio: 'none' },
      svg('title', {}, `${text} ${since}`), svg('polyline', { points })));
}

const rate = (v) => (v >= 100 ? Math.round(v).toLocaleString('en') : v >= 10 ? v.toFixed(1) : v.toFixed(v === 0 ? 0 : 2));
