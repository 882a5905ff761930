// The steps that wait for a person's decision.

import { get, poll, post, problem } from './api.js';
import { code } from './conversation.js';
import { link } from './conversations.js';
import { alertText, duration, h, json, missing, name, number, replace, when } from './dom.js';
import { inSight } from './list.js';

const cardHeight = 300; // as in style.css, with the space below it

export function approvals(root, { signal }) {
  const count = h('div', { class: 'count', role: 'status' });
  const done = h('p', { id: 'decided', class: 'count', role: 'status' });
  const space = h('div', { class: 'space' });
  const inbox = h('div', { class: 'inbox', role: 'feed', 'aria-label': 'Steps that wait', on: { scroll: () => draw() } }, space);
  const cards = new Map(); // those in the document
  const reasons = new Map(); // what was typed, also of cards that are out of sight
  let all = [];
  root.append(h('h1', {}, 'Approvals'), count, done, inbox);

  const keyOf = (a) => `${a.id} ${a.node}`; // each node has its own numbers

  function add(a) {
    const left = h('span');
    const reason = h('input', { type: 'text', name: 'reason', autocomplete: 'off', value: reasons.get(keyOf(a)), on: { input: () => reasons.set(keyOf(a), reason.value) } });
    const buttons = [
      h('button', { type: 'button', class: 'primary', on: { click: () => decide(true) } }, 'Approve'),
      h('button', { type: 'button', class: 'danger', on: { click: () => decide(false) } }, 'Deny'),
    ];
    async function decide(approve) {
      for (const b of buttons) b.disabled = true;
      try {
        await post(`approvals/${a.id}`, { approve, reason: reason.value.trim() }, signal, { node: a.node });
        replace(done, `Step ${a.id} is ${approve ? 'approved' : 'denied'}.`);
        await read();
      } catch (err) {
        if (signal.aborted) return;
        replace(done, `Step ${a.id} is not decided. ${problem(err)}`);
        alertText(problem(err));
      }
      for (const b of buttons) b.disabled = false;
    }
    const element = h('article', { class: 'card step', 'aria-label': `Step ${a.id}` },
      h('h2', {}, `Step ${a.id} of `, name(a.from)), h('p', { class: 'note' }, a.node ? ['on ', name(a.node), ' '] : '', 'since ', when(a.since), left, a.conversation_id ? [', in ', link(a.conversation_id)] : ''),
      code(json(a.step)), h('p', { class: 'actions' }, h('label', {}, 'Reason ', reason), ' ', buttons[0], ' ', buttons[1]));
    return { element, left, until: a.until && Date.parse(a.until) };
  }

  // draw has the cards in sight in the document, and the one that has the focus.
  function draw() {
    const [from, to] = inSight(inbox, all.length, cardHeight);
    const unused = new Set(cards.keys());
    all.forEach((a, i) => {
      const key = keyOf(a);
      let card = cards.get(key);
      if ((i < from || i >= to) && !card?.element.contains(document.activeElement)) return;
      unused.delete(key);
      if (!card) {
        card = add(a);
        cards.set(key, card);
        const next = [...cards.values()].filter((c) => c.index > i).sort((x, y) => x.index - y.index)[0];
        space.insertBefore(card.element, next?.element ?? null); // the order of the Tab key is that of the steps
      }
      card.index = i;
      card.element.style.transform = `translateY(${i * cardHeight}px)`;
      card.element.setAttribute('aria-posinset', i + 1);
      card.element.setAttribute('aria-setsize', all.length);
      replace(card.left, card.until ? `, ${duration(card.until - Date.now())} left` : '');
    });
    for (const key of unused) {
      cards.get(key).element.remove();
      cards.delete(key);
    }
  }

  async function read() {
    const view = await get('approvals', {}, signal);
    all = view.approvals;
    replace(count, all.length ? `${number(all.length)} waiting` : 'Nothing waits for a decision.', missing(view));
    const keys = new Set(all.map(keyOf));
    for (const key of reasons.keys()) if (!keys.has(key)) reasons.delete(key);
    space.style.height = `${all.length * cardHeight}px`;
    inbox.style.height = `${all.length * cardHeight}px`; // as high as its cards, until max-height
    draw();
  }

  const observer = new ResizeObserver(() => draw());
  observer.observe(inbox);
  signal.addEventListener('abort', () => observer.disconnect());
  let shown = false; // an error of reading; what a decision has shown stays
  poll(read, 1000, signal, (err) => {
    if (err || shown) alertText(err ? problem(err) : '');
    shown = Boolean(err);
  });
  return 'Approvals';
}
