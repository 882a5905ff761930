// The steps that wait for a person's decision.

import { get, poll, post, problem } from './api.js';
import { code } from './conversation.js';
import { alertText, duration, h, json, missing, name, number, replace, when } from './dom.js';

export function approvals(root, { signal }) {
  const count = h('div', { class: 'count', role: 'status' });
  const done = h('p', { id: 'decided', class: 'count', role: 'status' });
  const inbox = h('div', { class: 'inbox' });
  const cards = new Map();
  root.append(h('h1', {}, 'Approvals'), count, done, inbox);

  function add(a) {
    const left = h('span');
    const reason = h('input', { type: 'text', name: 'reason', autocomplete: 'off' });
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
    const element = h('section', { class: 'card step', 'aria-label': `Step ${a.id}` },
      h('h2', {}, `Step ${a.id} of `, name(a.from)), h('p', { class: 'note' }, a.node ? ['on ', name(a.node), ' '] : '', 'since ', when(a.since), left),
      code(json(a.step)), h('p', { class: 'actions' }, h('label', {}, 'Reason ', reason), ' ', buttons[0], ' ', buttons[1]));
    return { element, left, until: a.until && Date.parse(a.until) };
  }

  async function read() {
    const view = await get('approvals', {}, signal);
    const all = view.approvals;
    replace(count, all.length ? `${number(all.length)} waiting` : 'Nothing waits for a decision.', missing(view));
    const gone = new Set(cards.keys());
    for (const a of all) {
      const key = `${a.id} ${a.node}`; // each node has its own numbers
      gone.delete(key);
      let card = cards.get(key);
      if (!card) {
        card = add(a);
        cards.set(key, card);
        inbox.append(card.element);
      }
      replace(card.left, card.until ? `, ${duration(card.until - Date.now())} left` : '');
    }
    for (const key of gone) {
      cards.get(key).element.remove();
      cards.delete(key);
    }
  }

  let shown = false; // an error of reading; what a decision has shown stays
  poll(read, 1000, signal, (err) => {
    if (err || shown) alertText(err ? problem(err) : '');
    shown = Boolean(err);
  });
  return 'Approvals';
}
