// The list of conversations, with filters.

import { follow, get, problem, throttled } from './api.js';
import { alertText, fraction, h, missing, name, number, replace, when } from './dom.js';
import { List } from './list.js';

const filters = [
  ['agent', 'Agent'], ['codon', 'Codon'], ['state', 'State'], ['act', 'Act or type'], ['text', 'Id or text in payloads'],
];
const most = 50000; // conversations that the list holds at most

/** states returns what the sides of a conversation have come to. */
export function states(c) {
  if (c.lost) return [h('span', { class: 'state bad', title: c.lost }, 'lost')];
  if (c.relayed) return [h('span', { class: 'state', title: 'The node only passes its messages on: whether it has ended is not known.' }, 'unknown')];
  const all = [...new Set((c.sides || []).map((s) => s.state))];
  if (c.unheard) return all.map((s) => h('span', { class: 'state bad', title: `The node ${c.unheard} does not answer. Before, it was ${s}.` }, `${s}?`));
  return all.map((s) => h('span', { class: `state ${c.live ? 'under-way' : ''}` }, s));
}

/** parties returns who talks to whom: the initiator first. */
export function parties(c) {
  const side = c.sides?.find((s) => s.role === 'initiator') || c.sides?.[0];
  if (!side) return c.from ? [c.from, c.to || 'everyone'] : ['–', ''];
  return side.role === 'responder' ? [side.peer || '–', side.agent] : [side.agent, side.peer || ''];
}

/** sideOf returns the side of a conversation that a transition is of. An agent that asks several others has a side with each. */
export function sideOf(c, t) {
  return c?.sides?.find((s) => s.agent === t.agent && s.role === t.role && (s.peer || '') === (t.peer || ''));
}

/** silent returns the names of the nodes that have not answered and have sides of a conversation under way, as far as the page knows. */
export function silent(view, sides) {
  const nodes = (view.missing || []).map((m) => m.node);
  return [...new Set(sides.filter((s) => !s.ended && nodes.includes(s.node)).map((s) => s.node))];
}

/** link returns a link to a conversation. */
export function link(id, properties = {}) {
  return h('a', { href: hrefOf(id), ...properties }, name(id));
}

const hrefOf = (id) => `#/conversations/${encodeURIComponent(id)}`;

export function conversations(root, frame) {
  const { signal } = frame;
  const query = Object.fromEntries([...frame.query].filter(([key, value]) => value && (key === 'live' || key === 'parent' || filters.some(([f]) => f === key))));
  const list = new List({
    label: 'Conversations', kind: 'conversations', key: (c) => c.conversation_id, href: (c) => hrefOf(c.conversation_id), empty: 'No conversation matches.',
    columns: [
      { title: 'Began', cell: (c) => when(c.began) },
      { title: 'Codon', cell: (c) => c.protocol || '–' },
      { title: 'From', cell: (c) => name(parties(c)[0]) },
      { title: 'To', cell: (c) => name(parties(c)[1]) },
      { title: 'State', cell: states },
      { title: 'Messages', align: 'right', cell: (c) => number(c.message_count) },
      { title: 'Id', cell: (c) => link(c.conversation_id, { tabindex: '-1' }) },
    ],
  });
  const count = h('div', { class: 'count', role: 'status' });
  const fields = filters.map(([key, title]) => h('label', {}, title, ' ', h('input', { name: key, type: 'search', value: query[key], autocomplete: 'off', spellcheck: 'false' })));
  const under = h('select', { name: 'live' }, [['', 'all'], ['true', 'under way or unknown'], ['false', 'ended']].map(([value, text]) => h('option', { value, selected: (query.live || '') === value }, text)));
  const form = h('form', { class: 'filters', role: 'search', 'aria-label': 'Filter conversations', on: { submit: (e) => e.preventDefault() } }, h('label', {}, 'Show ', under), fields);

  let known = new Map();
  let version = 0; // of the filters
  let complete = false;
  let asOf = ''; // the mark of the latest read of all pages, or of changes
  let began = ''; // the mark of the first page of the read of all pages
  const asked = new Set(); // for each page that is asked for, the transitions since
  let view = {}; // the latest answer
  const order = (a, b) => b.at - a.at || b.fine - a.fine || (a.conversation_id < b.conversation_id ? -1 : 1);

  // add enters a conversation, with its time as numbers to sort by.
  function add(c) {
    c.at = Date.parse(c.began);
    c.fine = fraction(c.began);
    known.set(c.conversation_id, c);
  }

  function display() {
    const all = [...known.values()].sort(order);
    list.set(all);
    const one = all.length === 1 ? 'conversation' : 'conversations';
    replace(count, `${number(all.length)} ${one}${complete ? '' : ', loading…'}${known.size >= most ? ' (no more are loaded: filter)' : ''}`, missing(view));
  }

  // read asks for a page and enters it. What happened meanwhile is perhaps not in the page, and is entered behind it. It returns undefined if the filters have changed.
  async function read(limit, cursor, mark) {
    const mine = version;
    const since = [];
    let page;
    asked.add(since);
    try {
      page = await get('conversations', { ...query, limit, cursor, since: mark }, signal);
    } finally {
      asked.delete(since);
    }
    if (mine !== version) return undefined;
    view = page;
    began ||= page.as_of;
    page.conversations.forEach(add);
    since.forEach(enter);
    return page;
  }

  // pages reads one page after the other while more says so. It forgets what should have been in one of them and was not, and what is behind the last one that the list has room for.
  // What another call has added meanwhile stays: add enters another object. It returns false if the filters have changed.
  async function pages(limit, more) {
    const before = [...known.values()];
    const seen = new Set();
    for (let cursor = ''; ;) {
      const page = await read(cursor ? 1000 : limit, cursor);
      if (!page) return false;
      for (const c of page.conversations) seen.add(c.conversation_id);
      const last = page.conversations.at(-1);
      cursor = page.next;
      if (cursor && last && seen.size < most && more(last)) {
        display();
        continue;
      }
      for (const c of before) {
        const id = c.conversation_id;
        const of = silent(view, c.sides || []).join(', ');
        if (of && !seen.has(id)) known.set(id, { ...c, live: false, unheard: of });
        else if (!seen.has(id) && known.get(id) === c && (!cursor || !last || seen.size >= most || order(c, last) < 0)) known.delete(id);
      }
      return true;
    }
  }

  // all reads all pages. Then changes reads what has changed since.
  async function all() {
    began = '';
    if (!await pages(1000, () => true)) return;
    complete = true;
    asOf = began;
    display();
  }

  // changes reads those that have changed.
  async function changes() {
    const since = asOf;
    let next = '';
    for (let cursor = ''; ;) {
      const page = await read(1000, cursor, since);
      if (!page) return;
      next ||= page.as_of;
      cursor = page.next;
      if (!cursor) break;
    }
    if (asOf === since) asOf = next;
    display();
  }

  // top reads the latest ones, as far back as one that is known. While all pages are read for the first time, it reads one.
  async function top() {
    if (asOf) {
      await changes();
      return;
    }
    let newest;
    for (const c of known.values()) {
      if (!newest || order(c, newest) < 0) newest = c;
    }
    if (await pages(200, (last) => (newest ? order(last, newest) < 0 : complete))) display();
  }

  const failed = (err) => { if (!signal.aborted) alertText(err ? problem(err) : ''); };
  const attempt = (read) => async () => {
    try {
      await read();
      failed(null);
    } catch (err) {
      failed(err);
    }
  };
  const refresh = throttled(attempt(top), 400, signal);
  const everything = throttled(attempt(all), 1000, signal);
  const redraw = throttled(async () => display(), 400, signal);

  // enter enters a transition.
  function enter(t) {
    const c = known.get(t.conversation_id);
    const side = sideOf(c, t);
    if (!side) return;
    side.state = t.to;
    side.ended = t.ended;
    c.live = c.sides.some((s) => !s.ended);
    if (query.live && String(c.live) !== query.live || query.state && !c.sides.some((s) => isWanted(s.state))) known.delete(t.conversation_id);
  }

  const isWanted = (state) => state.toLowerCase() === query.state.toLowerCase();

  // comes reports whether a conversation that the list does not have may have come to match the filters: it perhaps began before the latest ones.
  const comes = (t) => !known.has(t.conversation_id) && (query.live === 'false' && t.ended || query.state && isWanted(t.to));

  let typing;
  form.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      list.forget();
      for (const [key, value] of new FormData(form)) query[key] = value.trim();
      frame.setQuery(query);
      version++;
      known = new Map();
      complete = false;
      asOf = '';
      display();
      everything();
    }, 250);
  });

  root.append(h('h1', {}, 'Conversations'), form, count, list.element);
  follow({}, {
    event: (kind, data) => {
      if (kind === 'conversation.transition') {
        for (const since of asked) since.push(data);
        enter(data);
        redraw(); // refresh waits longer after a slow answer
        if (comes(data)) everything();
      }
      refresh();
    },
    opened: everything,
    state: frame.live,
  }, signal);
  const timer = setInterval(everything, 300000);
  signal.addEventListener('abort', () => {
    clearInterval(timer);
    list.observer.disconnect();
  });
  return 'Conversations';
}
