// A list of which only the rows in sight are in the document.

import { h, replace } from './dom.js';

const rowHeight = 36; // as in style.css, also of the head
const beyond = 8; // rows above and below those in sight

/** inSight returns the first index of the items of one height that are in sight or near, and the one behind the last. */
export function inSight(view, count, height, room = view.clientHeight) {
  const near = Math.ceil((beyond * rowHeight) / height);
  return [Math.max(0, Math.floor(view.scrollTop / height) - near), Math.min(count, Math.ceil((view.scrollTop + room) / height) + near)];
}

/**
 * List shows items as rows of a grid. columns have a title and cell(item), which returns nodes or texts; key(item) tells items apart, and
 * href(item), if given, is where Enter and a click lead. The arrow keys, Page Up and Down, Home and End move the active row.
 */
export class List {
  constructor({ label, kind, columns, key, href, empty }) {
    Object.assign(this, { columns, key, href, empty, items: [], active: -1, rows: new Map() });
    this.space = h('div', { class: 'space', role: 'presentation' });
    this.none = h('p', { class: 'empty' });
    const head = h('div', { class: 'row head', 'aria-hidden': 'true' }, columns.map((c) => h('div', { class: `cell ${c.align || ''}` }, c.title)));
    this.view = h('div', {
      class: 'viewport', tabindex: '0', role: 'grid', 'aria-label': label, 'aria-colcount': columns.length,
      on: { scroll: () => this.draw(), keydown: (e) => this.pressed(e), wheel: () => this.forget(), pointerdown: () => this.forget(), click: (e) => this.clicked(e), focus: () => this.focused() },
    }, head, this.space);
    this.element = h('div', { class: `list ${kind}` }, this.view, this.none);
    this.wanted = history.state?.[kind]; // where the list stood when this entry of the history was left
    this.kind = kind;
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.view);
  }

  /** set shows other items. The active row stays with its item. */
  set(items) {
    const active = this.items[this.active] && this.key(this.items[this.active]);
    this.items = items;
    if (active !== undefined) this.active = items.findIndex((item) => this.key(item) === active);
    this.view.setAttribute('aria-rowcount', items.length);
    this.space.style.height = `${items.length * rowHeight}px`;
    replace(this.none, items.length ? '' : this.empty);
    this.restore();
    this.draw();
  }

  // restore brings the list to where it stood, once it has as many items as that takes.
  restore() {
    if (!this.wanted) return;
    const at = this.items.findIndex((item) => this.key(item) === this.wanted.active);
    if (this.items.length * rowHeight >= this.wanted.bottom) this.view.scrollTop = this.wanted.top;
    else if (at < 0) return;
    this.active = at;
    this.wanted = null;
    if (at >= 0) this.move(at);
  }

  /** forget has the list stay where it is: the operator has moved on before it was restored, or wants other items. */
  forget() {
    this.wanted = null;
  }

  // remember keeps in the history where the list stands.
  remember() {
    const active = this.items[this.active] && this.key(this.items[this.active]);
    const { scrollTop } = this.view;
    const bottom = Math.min(scrollTop + this.height, this.items.length * rowHeight); // a short list leaves room below
    history.replaceState({ ...history.state, [this.kind]: { top: scrollTop, bottom, active } }, '');
  }

  // height is that of the rows in sight.
  get height() {
    return this.view.clientHeight - rowHeight;
  }

  draw() {
    const [from, to] = inSight(this.view, this.items.length, rowHeight, this.height);
    const unused = new Set(this.rows.keys());
    for (let i = from; i < to; i++) {
      const key = this.key(this.items[i]);
      unused.delete(key);
      this.drawRow(key, this.items[i], i);
    }
    for (const key of unused) {
      this.rows.get(key).element.remove();
      this.rows.delete(key);
    }
    const active = this.rows.get(this.items[this.active] && this.key(this.items[this.active]));
    if (active) this.view.setAttribute('aria-activedescendant', active.element.id);
    else this.view.removeAttribute('aria-activedescendant');
  }

  drawRow(key, item, i) {
    let row = this.rows.get(key);
    if (!row) {
      row = { element: h('div', { class: 'row', role: 'row', id: `row-${List.last++}` }) };
      this.rows.set(key, row);
      this.space.append(row.element);
    }
    const text = JSON.stringify(item);
    if (row.text !== text) {
      row.text = text;
      replace(row.element, this.columns.map((c, n) => h('div', { class: `cell ${c.align || ''}`, role: 'gridcell', 'aria-colindex': n + 1 }, c.cell(item))));
    }
    row.index = i;
    row.element.setAttribute('aria-rowindex', i + 1);
    row.element.style.transform = `translateY(${i * rowHeight}px)`;
    row.element.classList.toggle('active', i === this.active);
  }

  focused() {
    this.forget();
    if (this.active < 0 && this.items.length) this.move(0);
  }

  move(to) {
    this.active = Math.max(0, Math.min(this.items.length - 1, to));
    const top = this.active * rowHeight;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    else if (top + rowHeight > this.view.scrollTop + this.height) this.view.scrollTop = top + rowHeight - this.height;
    this.draw();
  }

  pressed(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target !== this.view) return;
    this.forget();
    const page = Math.max(1, Math.floor(this.height / rowHeight) - 1);
    const to = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: this.items.length - 1,
    }[event.key];
    if (to !== undefined && this.items.length) this.move(to);
    else if (event.key === 'Enter' && this.href && this.items[this.active]) {
      this.remember();
      location.hash = this.href(this.items[this.active]);
    } else return;
    event.preventDefault();
  }

  clicked(event) {
    const element = event.target.closest('.row');
    const row = element && [...this.rows.values()].find((r) => r.element === element);
    if (!row) return;
    this.active = row.index;
    this.draw();
    this.remember();
    if (!event.target.closest('a') && this.href && getSelection().isCollapsed) location.hash = this.href(this.items[row.index]);
  }
}

List.last = 1;
