// The node and its cluster at a glance.

import { get, optional, poll, problem } from './api.js';
import { alertText, clock, h, missing, name, number, replace, svg, when } from './dom.js';

const rates = [
  ['messages', 'Messages', ''], ['begun', 'Conversations begun', ''], ['ended', 'Conversations ended', ''],
  ['errors', 'Errors of agents', 'bad'], ['failed', 'Conversations failed', 'bad'], ['refused', 'Messages refused', 'bad'], ['dead_letters', 'Dead letters', 'bad'],
];

export function overview(root, { signal }) {
  const overload = h('div', { role: 'status' });
  const numbers = h('div', { class: 'cards' });
  const charts = h('div', { class: 'cards charts' });
  const members = h('tbody');
  const refusals = h('div');
  root.append(
    h('h1', {}, 'Overview'), overload, numbers,
    h('section', { 'aria-labelledby': 'rates' }, h('h2', { id: 'rates' }, 'Rates'), charts),
    h('section', { 'aria-labelledby': 'members' }, h('h2', { id: 'members' }, 'Nodes'), h('div', { class: 'scroll' }, h('table', {},
      h('thead', {}, h('tr', {}, ['Node', 'State', 'Agents', 'Conversations', 'Handlers', 'Refused', 'Dead letters', 'Links up', 'Gossip', 'Links', 'Labels'].map((t) => h('th', { scope: 'col' }, t)))), members))),
    h('section', { 'aria-labelledby': 'latest' }, h('h2', { id: 'latest' }, 'Latest refusals'), refusals),
  );
  poll(async () => {
    const [nodes, cluster, samples, refused] = await Promise.all([
      counts(signal), get('members', {}, signal), optional('rates', {}, signal), optional('refusals', { limit: 5 }, signal),
    ]);
    replace(overload, nodes.nodes.filter((n) => n.overloaded).map((n) => h('p', { class: 'bad' }, name(n.node),
      ` refuses new work that its processors cannot do in time: ${number(n.overload_refused)} requests refused for this since it started, ${number(n.queued_handlers)} handlers wait for a processor.`)));
    const sum = (of) => nodes.nodes.reduce((n, node) => n + (of(node) || 0), 0);
    const refusedCount = sum((n) => n.messages_refused);
    const dead = sum((n) => Math.max(0, n.dead_letters - (n.recorder.duplicates || 0))); // a repeated message has had its effect
    const lost = sum((n) => n.recorder.events_lost);
    replace(numbers, [
      cluster.members.length > 1 ? card('Nodes', cluster.members.length) : card('Agents elsewhere', sum((n) => n.remote_agents)), card('Agents', sum((n) => n.agents), '#/agents'),
      card('Conversations under way', sum((n) => n.open_conversations), '#/conversations?live=true'), card('Handlers running', sum((n) => n.running_handlers)),
      card('Messages refused', refusedCount, '#/refusals', refusedCount > 0), card('Dead letters', dead, '#/refusals?kind=dead_letter', dead > 0),
      card('Conversations recorded', sum((n) => n.recorder.conversations), '#/conversations'), card('Events not recorded', lost, null, lost > 0), missing(nodes),
    ]);
    replace(charts, samples ? [rates.map(([key, title, kind]) => chart(title, kind, samples, key)), missing(samples)] : h('p', { class: 'note' }, 'This node does not serve rates. Its metrics have them.'));
    const known = new Map(nodes.nodes.map((n) => [n.node, n]));
    replace(members, cluster.members.map((m) => row(m, known.get(m.node))));
    replace(refusals, latest(refused));
  }, 2000, signal, (err) => alertText(err ? problem(err) : ''));
  return 'Overview';
}

// counts reads the counts of all nodes; those of one node, where it has no view of all.
async function counts(signal) {
  return await optional('nodes', {}, signal) ?? { nodes: [await get('node', {}, signal)] };
}

// row shows a member of the cluster. n has its counts; undefined if it has not answered.
function row(m, n = { recorder: {} }) {
  const down = n.links - n.links_up;
  const state = m.leaving ? 'leaving' : m.unlinked ? `no link: ${m.unlinked}` : n.overloaded ? 'refuses new work' : 'here';
  return h('tr', {},
    h('td', {}, name(m.node)), h('td', { class: m.unlinked || n.overloaded ? 'bad' : '' }, state), h('td', {}, number(n.agents)), h('td', {}, number(n.open_conversations)),
    h('td', {}, number(n.running_handlers)), h('td', {}, number(n.messages_refused)), h('td', {}, number(n.dead_letters && n.dead_letters - (n.recorder.duplicates || 0))),
    h('td', { class: down > 0 ? 'bad' : '' }, n.links === undefined ? '–' : `${number(n.links_up)} of ${number(n.links)}`),
    h('td', {}, m.gossip || '–'), h('td', {}, m.links || '–'), h('td', {}, Object.entries(m.labels || {}).map(([k, v]) => h('span', { class: 'state' }, `${k}=${v}`))));
}

function latest(refused) {
  if (!refused) return h('p', { class: 'note' }, 'This node keeps no list of refusals. ', h('a', { href: '#/refusals' }, 'Follow them live.'));
  if (!refused.refusals.length) return h('p', { class: 'note' }, 'There are none.');
  return h('ul', { class: 'plain' }, refused.refusals.map((r) => h('li', {}, when(r.time), ' ', h('span', { class: r.code === 'duplicate' ? 'state' : 'state bad' }, r.code), ' ', name(r.from), ' → ', name(r.to), ' ', r.text || '')));
}

function card(title, value, href, bad) {
  const content = [h('span', { class: `value ${bad ? 'bad' : ''}` }, number(value)), h('span', { class: 'title' }, title)];
  return href ? h('a', { class: 'card', href }, content) : h('div', { class: 'card' }, content);
}

// chart draws the samples of one rate, per second, as a line.
function chart(title, kind, { interval_s: interval, samples }, key) {
  const width = 240;
  const height = 48;
  const values = samples.map((s) => (s[key] ?? 0) / (interval || 1));
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
