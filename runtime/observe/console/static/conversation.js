// One conversation: its messages as they come, its states, its tree, and cancelling it.

import { Refusal, follow, get, optional, poll, post, problem, throttled } from './api.js';
import { link, parties, sideOf, silent, states } from './conversations.js';
import { failures } from './failures.js';
import { alertText, between, duration, h, json, missing, name, number, replace, shown, when } from './dom.js';
import { Sequence } from './sequence.js';
import { diagram, moveTable, moves } from './states.js';

const deepest = 24; // level of the tree that is moved to the right

const outcomes = {
  receipt: 'Cancelled: the peer says that nothing runs any more.',
  already_ended: 'It had ended before.',
  still_running: 'No receipt: the peer may still work.',
};

export function conversation(root, { signal, id, live }) {
  const facts = h('div', { class: 'facts' });
  const acts = h('ul', { id: 'acts', class: 'count' }); // what operators did
  const sides = h('tbody');
  const state = h('div', { class: 'machines' });
  const tree = h('div', { class: 'tree' });
  const payload = h('div', { class: 'payload' }, h('p', { class: 'note' }, 'Choose a message to see its payload.'));
  const outcome = h('p', { id: 'outcome', class: 'count', role: 'status' });
  const cancel = h('button', { id: 'cancel', type: 'button', class: 'danger', disabled: true, on: { click: () => confirm.showModal() } }, 'Cancel it…');
  const why = h('span', { id: 'cancel-why', class: 'note' }); // why it cannot be cancelled
  const reason = h('input', { id: 'reason', type: 'text', name: 'reason', maxlength: 1000, autocomplete: 'off' });
  const confirm = h('dialog', { 'aria-labelledby': 'confirm-title' },
    h('h2', { id: 'confirm-title' }, 'Cancel this conversation?'),
    h('p', {}, 'Its initiator sends CANCEL, and all that was begun for it is to stop. The record says that you did it, and why. The agents read the reason, and not your name.'),
    h('p', {}, h('label', {}, 'Reason ', reason)),
    h('p', { class: 'actions' },
      h('button', { id: 'confirm', type: 'button', class: 'danger', on: { click: () => { confirm.close(); withdraw(); } } }, 'Cancel it'), ' ',
      h('button', { type: 'button', on: { click: () => confirm.close() } }, 'Leave it')));
  let chosen = ''; // what of which message is shown
  const sequence = new Sequence((m) => {
    const now = JSON.stringify([m.id, m.sent, m.received, m.refused]);
    if (now !== chosen) replace(payload, details(m));
    chosen = now;
  });
  const scroll = h('div', { class: 'scroll drawing' }, sequence.element);
  const forgotten = h('div', { class: 'note' });
  const wrong = failures();

  root.append(
    h('div', { class: 'title' }, h('h1', {}, 'Conversation ', name(id)), cancel, why), facts, acts, outcome, confirm,
    h('div', { class: 'split' },
      h('section', { 'aria-labelledby': 'messages' }, h('h2', { id: 'messages' }, 'Messages'), forgotten, scroll),
      h('section', { class: 'aside', 'aria-labelledby': 'payload' }, h('h2', { id: 'payload' }, 'Payload'), payload),
      wrong,
      h('section', { 'aria-labelledby': 'sides' }, h('h2', { id: 'sides' }, 'Sides'), h('div', { class: 'scroll' }, h('table', {},
        h('thead', {}, h('tr', {}, ['Agent', 'Role', 'Peer', 'State', 'Since', 'Deadline', 'Budget'].map((t) => h('th', { scope: 'col' }, t)))), sides))),
      h('section', { 'aria-labelledby': 'states' }, h('h2', { id: 'states' }, 'States'), state),
      h('section', { 'aria-labelledby': 'tree' }, h('h2', { id: 'tree' }, 'Tree'), tree)),
  );

  let codon; // its table, once it is read; null if the node knows none
  let known = []; // the sides as they were last heard
  let last; // the latest answer
  let whole = true; // the next read is of all messages, and not of those that have changed
  let deadlines = [];
  let drawn = ''; // what of the states is drawn

  async function read() {
    try {
      const since = whole ? undefined : last?.as_of;
      whole = false;
      const c = await get(`conversations/${encodeURIComponent(id)}`, { since }, signal);
      last = c;
      following(() => (since ? sequence.update(c.messages || []) : sequence.set(c.messages || [])));
    } catch (err) {
      whole = true;
      if (!(err instanceof Refusal) || err.status !== 404 || !last) throw err;
      if (known.some((s) => !s.ended)) await show({ ...last, live: false, sides: last.sides.filter((s) => s.ended), missing: known, gone: err.message });
      return; // it may have been forgotten meanwhile
    }
    await show({ ...last });
  }

  // show shows an answer. A side under way of a node that does not answer is as it was when the node was last heard.
  async function show(c) {
    const nodes = silent(c, known);
    if (c.gone) c.missing = [];
    c.sides = [...c.sides, ...known.filter((s) => nodes.includes(s.node) && !sideOf(c, s)).map((s) => ({ ...s, ended: true, unheard: true }))];
    known = c.sides.map((s) => (s.unheard ? { ...s, ended: false } : s));
    const ends = c.live ? 'under way'
      : c.gone ? `not known: ${c.gone}` : nodes.length ? `not known: the node ${nodes.join(', ')}, which has it, does not answer`
        : c.lost ? `ended: ${c.lost}`
          : c.relayed || !c.sides.length ? 'without a side on a node: whether it has ended is not known' : 'ended';
    wrong.hidden = !c.failures?.length;
    wrong.set(c.failures || []);
    replace(forgotten, missing(c), c.messages_forgotten ? `The node has forgotten the first ${number(c.messages_forgotten)} messages.` : '');
    replace(acts, (c.acts || []).map((a) => h('li', {}, when(a.time), ` ${a.who || 'an operator'} (${a.host}): ${a.what}`, a.reason ? `, because “${a.reason}”` : ', without a reason', ` (${a.result})`)));
    cancel.disabled = !c.live;
    replace(why, c.live ? '' : `It cannot be cancelled: it is ${ends}.`);
    replace(facts, fact('Codon', c.protocol || '–'), fact('Is', ends), fact('State', states(c)), fact('Began', when(c.began)), fact('Last event', when(c.updated)),
      fact('Messages', number(c.message_count)));
    deadlines = [];
    replace(sides, c.sides.map((s) => h('tr', {},
      h('td', {}, name(s.agent), s.node ? [' on ', name(s.node)] : ''), h('td', {}, s.role), h('td', {}, name(s.peer)), h('td', {}, h('span', { class: `state ${s.ended ? '' : 'under-way'}` }, s.state), s.unheard ? ' when last heard' : ''), h('td', {}, when(s.since)),
      deadline(s), h('td', {}, budget(s)))));
    tick();
    if (codon === undefined && c.protocol) codon = await table(c.protocol);
    drawStates(c);
  }

  // table returns the table of a codon: null where no node has it, and undefined where a node that perhaps has it has not answered.
  async function table(protocol) {
    try {
      return await get(`codons/${encodeURIComponent(protocol)}`, {}, signal);
    } catch (err) {
      if (!(err instanceof Refusal) || err.status !== 404) throw err;
      return err.code === 'incomplete' ? undefined : null;
    }
  }

  // following changes the diagram, and scrolls to its end if the end was in sight.
  function following(change) {
    const bottom = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40;
    if (change() && bottom) scroll.scrollTop = scroll.scrollHeight;
  }

  let fresh = []; // messages that have come and are not shown yet
  function grow() {
    following(() => sequence.add(fresh));
    fresh = [];
  }

  // budget says what is left; the initiator learns it at the end, and its side says what it has lent.
  function budget(s) {
    if (!s.budget) return '–';
    if (!s.budget_left) return `${Object.entries(s.budget).map(([k, v]) => `${k} ${number(v)}`).join(', ')} lent`;
    return `${Object.entries(s.budget).map(([k, v]) => `${k} ${number(s.budget_left[k] ?? v)} of ${number(v)}`).join(', ')} left`;
  }

  function deadline(s) {
    const cell = h('td', {}, '–');
    if (s.deadline && !s.ended) deadlines.push([cell, Date.parse(s.deadline), s.deadline]);
    return cell;
  }

  function tick() {
    for (const [cell, at, text] of deadlines) {
      const left = at - Date.now();
      replace(cell, h('time', { datetime: text, title: text, class: left < 0 ? 'bad' : '' }, left < 0 ? `${duration(-left)} ago` : `in ${duration(left)}`));
    }
  }

  function drawStates(c) {
    const now = JSON.stringify([codon === null, c.sides.map((s) => [s.role, s.agent, s.state, s.ended, s.path])]);
    if (now === drawn) return;
    drawn = now;
    if (!codon) {
      replace(state, h('p', { class: 'note' }, codon === null ? 'No node has the table of this codon.' : c.protocol ? 'The node that has the table of this codon has not answered.' : 'These messages belong to no codon.'));
      return;
    }
    const roles = ['initiator', 'responder'].filter((role) => codon.rows.some((r) => r.role === role));
    replace(state, h('p', {}, h('b', {}, codon.title), ' – ', codon.purpose), h('p', { class: 'note' }, 'Strong lines: the path so far. Coloured lines: the legal next moves.'), roles.map((role) => {
      const of = c.sides.filter((s) => s.role === role);
      const side = of.find((s) => !s.ended) || of[0];
      return h('div', { class: 'machine' },
        h('h3', {}, role, ' ', side ? name(side.agent) : h('span', { class: 'note' }, 'not on this node'), side ? [' is ', h('span', { class: 'state' }, side.state)] : ''),
        h('div', { class: 'scroll' }, diagram(codon, role, side?.state, side?.path)),
        side && !side.ended ? moveTable(role, moves(codon, role, side.state)) : null);
    }));
  }

  function details(m) {
    return [
      h('dl', {}, [
        ['Act', m.performative], ['Type', m.message_type], ['From', name(m.sender)], ['To', m.receiver ? name(m.receiver) : 'everyone'], ['Time', m.time], ['Priority', m.priority],
        ['Id', name(m.id)], ['In reply to', m.in_reply_to && name(m.in_reply_to)], ['Sent', m.sent], ['Taken', m.received], ['Refused', m.refused],
      ].filter(([, v]) => v !== undefined && v !== '').map(([k, v]) => [h('dt', {}, k), h('dd', {}, v instanceof Node ? v : String(v))])),
      m.payload === undefined
        ? h('p', { class: 'note' }, m.payload_left_out ? `The payload is left out: ${m.payload_left_out}.` : 'It has no payload.')
        : code(json(m.payload)),
    ];
  }

  async function withdraw() {
    cancel.disabled = true;
    replace(outcome, 'CANCEL is on its way; waiting for the receipt…');
    try {
      const answer = await post(`conversations/${encodeURIComponent(id)}/cancel`, { reason: reason.value.trim() }, signal);
      replace(outcome, outcomes[answer.outcome] || answer.outcome, answer.state ? ` (${answer.state})` : '', missing(answer));
    } catch (err) {
      if (signal.aborted) return;
      replace(outcome, `Not cancelled. ${problem(err)}`);
      alertText(problem(err));
    }
    refresh();
  }

  // drawTree shows the conversations that belong to this one. Those below a depth are not moved further to the right: they have the number of their level.
  let tells; // what is shown
  async function drawTree() {
    const view = await optional(`conversations/${encodeURIComponent(id)}/tree`, {}, signal);
    if (view === tells) return;
    tells = view;
    if (!view) { // no node that answers knows it any more: what is shown is not said to be under way
      for (const e of tree.querySelectorAll('.under-way')) e.classList.remove('under-way');
      return;
    }
    const below = new Map();
    const listed = new Set(view.conversations.map((c) => c.conversation_id));
    const parentOf = (c) => (listed.has(c.parent_conversation_id) ? c.parent_conversation_id : '');
    for (const c of view.conversations) below.set(parentOf(c), [...(below.get(parentOf(c)) || []), c]);
    for (const all of below.values()) all.sort((a, b) => between(b.began, a.began));
    const list = h('ul');
    const open = (below.get('') || []).map((c) => [c, list, 1]).reverse();
    while (open.length) {
      const [c, into, level] = open.pop();
      const children = below.get(c.conversation_id) || [];
      const item = h('li', {}, level > deepest ? h('span', { class: 'note' }, `level ${level}: `) : '', node(c));
      into.append(item);
      const inner = children.length && level < deepest ? item.appendChild(h('ul')) : into;
      for (const child of children.reverse()) open.push([child, inner, level + 1]);
    }
    const drawn = h('div', {}, missing(view), list, view.truncated ? h('p', { class: 'note' }, `The tree has more than these ${number(view.conversations.length)} conversations: open one further down to see what belongs to it.`) : '');
    if (tree.textContent !== drawn.textContent) replace(tree, ...drawn.childNodes); // a row that stays can be clicked
  }

  function node(c) {
    const [from, to] = parties(c);
    return [link(c.conversation_id, c.conversation_id === id ? { 'aria-current': 'true' } : {}), ' ', c.protocol || '–', ' ', name(from), ' → ', name(to), ' ', states(c)];
  }

  const failed = (err) => {
    if (!signal.aborted) alertText(err ? problem(err) : '');
  };
  const refresh = throttled(async () => {
    try {
      await read();
      failed(null);
    } catch (err) {
      failed(err);
    }
  }, 250, signal);

  function readAll() {
    whole = true;
    refresh();
  }

  follow({ conversation: id }, {
    event: (kind, data) => {
      if (data.message && kind === 'message.sent') {
        if (!fresh.length) setTimeout(grow, 40);
        fresh.push(data.message);
      }
      refresh();
    },
    opened: readAll,
    state: live,
  }, signal);
  const timer = setInterval(readAll, 60000);
  signal.addEventListener('abort', () => clearInterval(timer));
  poll(async () => tick(), 500, signal, () => {});
  poll(drawTree, 3000, signal, () => {});
  return `Conversation ${shown(id)}`;
}

/** code returns a block of text that can be scrolled by keyboard. */
export function code(text) {
  const block = h('pre', { tabindex: '0' });
  block.textContent = shown(text, true);
  return block;
}

const fact = (title, ...value) => h('div', {}, h('span', { class: 'title' }, title), ' ', value);
