// The messages of one conversation as a sequence diagram.

import { between, clock, duration, shown, svg } from './dom.js';

const rowHeight = 34;
const headHeight = 44;
const gutter = 90; // for the times
const everyone = '(everyone)';
const most = 1000; // messages that the diagram shows at most: the last ones

const cut = (text, n) => (text.length > n ? `${text.slice(0, n / 2 - 1)}…${text.slice(1 - n / 2)}` : text);

/** Sequence draws messages between the lifelines of agents. chosen is called with a message that the operator chooses. */
export class Sequence {
  constructor(chosen) {
    this.chosen = chosen;
    this.agents = [];
    this.messages = new Map(); // by id
    this.rows = new Map();
    this.current = null;
    this.pitch = 0; // the space of one agent
    this.framed = 0; // for how many agents
    this.began = null; // the time of the first message that was ever shown
    this.head = svg('g');
    this.lines = svg('g', { class: 'lifelines' });
    this.body = svg('g');
    this.element = svg('svg', { class: 'sequence', role: 'listbox', 'aria-label': 'Messages, the oldest first', tabindex: '0' }, this.lines, this.head, this.body);
    this.element.addEventListener('keydown', (e) => this.pressed(e));
    this.element.addEventListener('focus', () => { if (!this.current) this.step(-Infinity); });
    this.element.addEventListener('click', (e) => {
      const row = e.target.closest('.message');
      if (row) this.choose(row.dataset.id);
    });
  }

  /** add adds messages that have just been sent. It reports whether there are new ones. */
  add(messages) {
    return this.put([...this.messages.values(), ...messages.filter((m) => !this.messages.has(m.id))]);
  }

  /**
   * set shows the messages that the node has, in their order, between those that it has forgotten meanwhile and those that were added meanwhile.
   * It reports whether there are new ones.
   */
  set(messages) {
    const has = new Set(messages.map((m) => m.id));
    const rest = [...this.messages.values()].filter((m) => !has.has(m.id));
    const old = (m) => messages.length > 0 && between(m.time, messages[0].time) > 0;
    return this.put([...rest.filter(old), ...messages, ...rest.filter((m) => !old(m))]);
  }

  /** update enters messages that are new or have changed. It reports whether there are new ones. */
  update(messages) {
    const all = new Map(this.messages);
    for (const m of messages) {
      const old = all.get(m.id) || m; // the nodes of both sides count, and perhaps only one of them says what has changed
      all.set(m.id, { ...old, ...m, sent: Math.max(old.sent, m.sent), received: Math.max(old.received, m.received), time: between(old.time, m.time) < 0 ? m.time : old.time });
    }
    return this.put([...all.values()].sort((x, y) => between(y.time, x.time)));
  }

  put(messages) {
    const before = this.messages;
    this.messages = new Map(messages.slice(-most).map((m) => [m.id, m]));
    let grown = false;
    for (const [id, row] of this.rows) {
      if (this.messages.has(id)) continue;
      row.element.remove();
      this.rows.delete(id);
      if (this.current === id) this.current = null;
    }
    for (const m of this.messages.values()) {
      grown = grown || !before.has(m.id);
      for (const agent of [m.sender, m.receiver || everyone]) {
        if (!this.agents.includes(agent)) {
          this.agents.push(agent);
          grown = true;
        }
      }
    }
    if (grown) this.frame();
    // A row keeps its place: when the first ones go, the body moves up instead.
    const [first] = this.messages.values();
    const base = (first && this.rows.get(first.id)?.index) || 0;
    this.body.setAttribute('transform', `translate(0 ${-base * rowHeight})`);
    this.began ||= first?.time;
    let i = base;
    for (const m of this.messages.values()) this.draw(m, i++);
    if (this.current) this.chosen(this.messages.get(this.current));
    return grown;
  }

  x(agent) {
    return gutter + this.pitch * (this.agents.indexOf(agent) + 0.5);
  }

  frame() {
    if (this.framed !== this.agents.length) {
      const room = (this.element.parentElement?.clientWidth || 0) - gutter - 2; // reading it makes the browser lay out all
      this.pitch = Math.max(170, Math.min(320, room / Math.max(2, this.agents.length)));
      this.framed = this.agents.length;
      this.heads();
    }
    const width = gutter + this.pitch * Math.max(2, this.agents.length);
    const height = headHeight + rowHeight * (this.messages.size + 0.5);
    this.element.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.element.setAttribute('width', width);
    this.element.setAttribute('height', height);
    for (const line of this.lines.children) line.setAttribute('y2', height);
  }

  heads() {
    this.head.replaceChildren();
    this.lines.replaceChildren();
    for (const agent of this.agents) {
      const x = this.x(agent);
      const w = this.pitch - 20;
      this.lines.append(svg('line', { x1: x, x2: x, y1: headHeight - 6 }));
      this.head.append(svg('g', { class: 'agent' },
        svg('rect', { x: x - w / 2, y: 6, width: w, height: 30, rx: 6 }),
        svg('text', { x, y: 26, 'text-anchor': 'middle' }, cut(shown(agent), 24), svg('title', {}, agent))));
    }
  }

  draw(m, i) {
    const text = [i, this.pitch, this.agents.length, m.sent, m.refused].join();
    let row = this.rows.get(m.id);
    if (!row) {
      row = { element: svg('g', { class: 'message', role: 'option', id: `message-${Sequence.last++}`, 'aria-selected': 'false' }) };
      row.element.dataset.id = m.id;
      this.rows.set(m.id, row);
    }
    if (row.text === text) return;
    row.text = text;
    if (row.index !== i) this.body.append(row.element); // and so do all behind it: the order is that of the messages
    row.index = i;
    const y = headHeight + rowHeight * (i + 0.7);
    const from = this.x(m.sender);
    const to = this.x(m.receiver || everyone);
    const label = (m.message_type || m.performative) + (m.sent > 1 ? ` ×${m.sent}` : '') + (m.refused ? ` – refused: ${m.refused}` : '');
    const back = to < from ? -1 : 1;
    const end = to - back * 2;
    const line = from === to
      ? `M${from} ${y - 8}h46v12h-40`
      : `M${from} ${y}H${end}`;
    const tip = from === to ? [from + 6, y + 4, -1] : [end, y, back];
    row.element.setAttribute('class', `message ${m.refused ? 'refused' : ''} ${this.current === m.id ? 'current' : ''}`);
    row.element.setAttribute('aria-label', shown(`${label}, from ${m.sender} to ${m.receiver || 'everyone'}, ${clock(m.time)}`));
    row.element.replaceChildren(
      svg('rect', { class: 'band', x: 0, y: y - rowHeight * 0.68, width: '100%', height: rowHeight }),
      svg('text', { class: 'time', x: 8, y: y + 4 }, m.time === this.began ? clock(m.time) : `+${duration(between(this.began, m.time))}`, svg('title', {}, m.time)),
      svg('path', { class: 'arrow', d: line }),
      svg('path', { class: 'tip', d: `M${tip[0]} ${tip[1]}l${-8 * tip[2]} -4v8z` }),
      svg('text', { class: 'label', x: from === to ? from + 54 : (from + to) / 2, y: from === to ? y + 2 : y - 5, 'text-anchor': from === to ? 'start' : 'middle' }, cut(shown(label), 60)),
    );
  }

  choose(id) {
    this.current = id;
    for (const [key, row] of this.rows) {
      row.element.classList.toggle('current', key === id);
      row.element.setAttribute('aria-selected', String(key === id));
    }
    const { element } = this.rows.get(id);
    this.element.setAttribute('aria-activedescendant', element.id);
    element.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    this.chosen(this.messages.get(id));
  }

  step(by) {
    const ids = [...this.messages.keys()];
    if (!ids.length) return;
    const to = this.current ? ids.indexOf(this.current) + by : by;
    this.choose(ids[Math.max(0, Math.min(ids.length - 1, to))]);
  }

  pressed(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }[event.key];
    if (by === undefined) return;
    this.step(by);
    event.preventDefault();
  }
}

Sequence.last = 1;
