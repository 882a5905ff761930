// The states of one role of a codon as a diagram, and the moves that its table has for a state.

import { h, replace, shown, svg } from './dom.js';

const boxHeight = 30;
const columnGap = 48;
const rowGap = 16;

const plain = (on) => !on.startsWith('any other ');

/** graph returns the states that the rows of a role reach, by their distance from the first one, and the edges between them. */
export function graph(codon, role) {
  const edges = new Map(); // "from\nto" to what brings it about
  const next = new Map();
  for (const row of codon.rows) {
    if (row.role !== role || !row.to) continue;
    for (const from of row.from) {
      if (from === row.to) continue;
      const key = `${from}\n${row.to}`;
      const edge = edges.get(key) || { from, to: row.to, on: [] };
      edge.on.push(...row.on.filter(plain));
      edges.set(key, edge);
      next.set(from, [...(next.get(from) || []), row.to]);
    }
  }
  const distance = new Map([['idle', 0]]);
  for (const queue = ['idle']; queue.length;) {
    const state = queue.shift();
    for (const to of next.get(state) || []) {
      if (distance.has(to)) continue;
      distance.set(to, distance.get(state) + 1);
      queue.push(to);
    }
  }
  const terminal = new Set(codon.terminal_states);
  const live = [...distance.keys()].filter((s) => !terminal.has(s));
  const last = Math.max(0, ...live.map((s) => distance.get(s))) + 1;
  const columns = [];
  for (const [state, d] of distance) {
    const at = terminal.has(state) ? last : d;
    (columns[at] ||= []).push(state);
  }
  return { columns: columns.filter(Boolean), edges: [...edges.values()].filter((e) => distance.has(e.from)), terminal };
}

// arrange orders each column by the mean place of the states before it, so that fewer edges cross.
function arrange({ columns, edges }) {
  const place = new Map();
  for (const column of columns) {
    const mean = new Map(column.map((state) => {
      const before = edges.filter((e) => e.to === state && place.has(e.from)).map((e) => place.get(e.from));
      return [state, before.length ? before.reduce((a, b) => a + b) / before.length : Infinity];
    }));
    column.sort((a, b) => (mean.get(a) === mean.get(b) ? 0 : mean.get(a) - mean.get(b)));
    column.forEach((state, i) => place.set(state, (i + 0.5) / column.length));
  }
}

/**
 * diagram draws the states of a role: current is lit, and so are the edges that leave it. path has the states that a side has come through, in their order: they
 * and the edges between them are strong.
 */
export function diagram(codon, role, current, path = []) {
  const g = graph(codon, role);
  const passed = new Set(path);
  const taken = new Set(path.slice(1).map((to, i) => `${path[i]}\n${to}`));
  arrange(g);
  const boxWidth = 18 + 7.3 * Math.max(...g.columns.flat().map((state) => state.length)); // of the longest name
  const rows = Math.max(...g.columns.map((c) => c.length));
  const height = rows * (boxHeight + rowGap) + rowGap;
  const width = g.columns.length * (boxWidth + columnGap);
  const at = new Map();
  g.columns.forEach((column, x) => column.forEach((state, y) => {
    const step = height / column.length;
    at.set(state, { column: x, x: x * (boxWidth + columnGap) + columnGap / 4, y: step * (y + 0.5) });
  }));
  const edges = [];
  const kind = (e) => (taken.has(`${e.from}\n${e.to}`) ? 'taken' : e.from === current && !g.terminal.has(current) ? 'lit' : '');
  const above = ['', 'lit', 'taken']; // the order of drawing
  for (const [e, of] of g.edges.map((e) => [e, kind(e)]).sort((a, b) => above.indexOf(a[1]) - above.indexOf(b[1]))) {
    edges.push(svg('path', { class: `edge ${of}`, d: curve(at.get(e.from), at.get(e.to), boxWidth), 'marker-end': `url(#tip${of && `-${of}`}-${role})` },
      svg('title', {}, `${e.from} → ${e.to}: ${e.on.join(', ')}`)));
  }
  const marker = (id, kind) => svg('marker', { id: `${id}-${role}`, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse' },
    svg('path', { class: `tip ${kind}`, d: 'M0 0L8 4L0 8z' }));
  return svg('svg', { class: 'states', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
    'aria-label': shown(`States of the ${role}${current ? `; now: ${current}` : ''}${path.length > 1 ? `; so far: ${path.join(', ')}` : ''}`) },
    svg('defs', {}, marker('tip', ''), marker('tip-lit', 'lit'), marker('tip-taken', 'taken')), edges,
    [...at].map(([state, p]) => svg('g', { class: `box ${state === current ? 'current' : passed.has(state) ? 'passed' : ''} ${g.terminal.has(state) ? 'terminal' : ''}` },
      svg('rect', { x: p.x, y: p.y - boxHeight / 2, width: boxWidth, height: boxHeight, rx: g.terminal.has(state) ? boxHeight / 2 : 6 }),
      svg('text', { x: p.x + boxWidth / 2, y: p.y + 4, 'text-anchor': 'middle' }, state))));
}

// curve is the path of an edge: forwards from right to left, and beside the boxes within a column or backwards.
function curve(from, to, boxWidth) {
  const right = from.x + boxWidth;
  if (to.column > from.column) {
    const bend = Math.max(24, (to.x - right) / 2);
    return `M${right} ${from.y}C${right + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`;
  }
  if (to.column === from.column) {
    const out = right + 34;
    return `M${right} ${from.y + 6}C${out} ${from.y + 6} ${out} ${to.y} ${right} ${to.y}`;
  }
  const end = to.x + boxWidth / 2;
  const side = to.y >= from.y ? -1 : 1;
  return `M${from.x} ${from.y}C${from.x - 50} ${from.y} ${end} ${to.y - side * 60} ${end} ${to.y - side * (boxHeight / 2)}`;
}

/** moves returns what the table has rows for in a state: what occurs, where it leads, and why. */
export function moves(codon, role, state) {
  const all = [];
  for (const row of codon.rows) {
    if (row.role !== role || !row.from.includes(state)) continue;
    for (const on of row.on.filter(plain)) all.push({ on, to: row.to || '', why: row.why || '' });
  }
  return all;
}

/** moveTable shows moves. Those that end nowhere else come last. */
export function moveTable(role, all) {
  const body = h('tbody');
  replace(body, [...all].sort((a, b) => (a.to === '') - (b.to === '')).map((m) => h('tr', {},
    h('td', {}, m.on), h('td', {}, m.to ? h('span', { class: 'state' }, m.to) : h('span', { class: 'note' }, 'stays')), h('td', { class: 'note' }, m.why))));
  return h('div', { class: 'scroll' }, h('table', { class: 'moves' },
    h('caption', {}, `Legal next moves of the ${role}`), h('thead', {}, h('tr', {}, ['On', 'Then', 'Why'].map((t) => h('th', { scope: 'col' }, t)))), body));
}
