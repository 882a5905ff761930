// The HTTP interface of the node (docs/api.md).

const base = new URL('../api/', document.baseURI);
const storeKey = 'ribosome-token';

let token = sessionStorage.getItem(storeKey) || '';
let told = false; // that the token is not accepted

/** hasToken reports whether the operator has entered a token. */
export const hasToken = () => token !== '';

/** setToken keeps a token for this tab of the browser; an empty one is forgotten. */
export function setToken(text) {
  token = text.trim();
  told = false;
  if (token) sessionStorage.setItem(storeKey, token);
  else sessionStorage.removeItem(storeKey);
}

/** tellAgain has the next answer say whether the token is not accepted, although one has said so. */
export function tellAgain() {
  told = false;
}

/** Refusal is an answer of the node that is an error. */
export class Refusal extends Error {
  constructor(status, code, text) {
    super(text);
    this.status = status;
    this.code = code;
  }
}

/** problem returns the text of an error for the operator. */
export function problem(err) {
  if (err instanceof Refusal) return `${err.code}: ${err.message}`;
  return `The node cannot be reached: ${err.message}`;
}

function headers(more = {}) {
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

function address(path, query = {}) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query)) {
    if (value !== '' && value !== undefined && value !== null) url.searchParams.set(name, value);
  }
  return url;
}

async function send(path, { query, signal, ...options } = {}) {
  const used = token;
  const answer = await fetch(address(path, query), { signal, cache: 'no-store', credentials: 'omit', redirect: 'error', ...options });
  if (answer.ok || answer.status === 304) return answer;
  let code = `HTTP ${answer.status}`;
  let text = answer.statusText;
  try {
    ({ code, text } = (await answer.json()).error);
  } catch {
    // An answer of something between the browser and the node.
  }
  if (answer.status === 401 && used === token && !told) { // not the late answer to a request with an earlier token
    told = true;
    dispatchEvent(new CustomEvent('unauthorized', { detail: text }));
  }
  throw new Refusal(answer.status, code, text);
}

// parse reads JSON. A number whose digits JavaScript cannot keep stays as it is written.
function parse(text) {
  return /[\d.]{16}/.test(text) ? JSON.parse(text, exact) : JSON.parse(text);
}

function exact(_, value, context) {
  if (typeof value === 'number' && context?.source.length > 15 && String(value) !== context.source) return JSON.rawJSON(context.source);
  return value;
}

const kept = new Map(); // the last answers of views that are read again and again as a whole, by address, with their tags

/** get reads one answer. It returns the same object as before when a view that is read as a whole has not changed. */
export async function get(path, query, signal) {
  const whole = !/^conversations(\/[^/]*)?$/.test(path); // of the others, the changes are read
  const key = `${token} ${address(path, query)}`;
  const before = whole && kept.get(key);
  const answer = await send(path, { query, signal, headers: headers(before ? { 'If-None-Match': before.tag } : {}) });
  if (answer.status === 304) return before.value;
  const value = parse(await answer.text());
  const tag = answer.headers.get('ETag');
  kept.delete(key);
  if (whole && tag) kept.set(key, { tag, value });
  if (kept.size > 20) kept.delete(kept.keys().next().value);
  return value;
}

/** optional is get of what an older node may not have: undefined then. */
export async function optional(path, query, signal) {
  try {
    return await get(path, query, signal);
  } catch (err) {
    if (err instanceof Refusal && err.status === 404) return undefined;
    throw err;
  }
}

/** post changes something. */
export async function post(path, body, signal, query = {}) {
  const answer = await send(path, { method: 'POST', query, signal, headers: headers({ 'Content-Type': 'application/json' }), body: JSON.stringify(body ?? {}) });
  return parse(await answer.text());
}

/** pause waits, until the signal at most. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}

/** poll calls read again and again, with a pause between, until the signal. It waits while nobody sees the page. Errors are shown. */
export async function poll(read, ms, signal, failed) {
  while (!signal.aborted) {
    if (!document.hidden) {
      try {
        await read();
        failed(null);
      } catch (err) {
        if (signal.aborted) return;
        failed(err);
      }
    }
    await pause(ms, signal);
  }
}

/**
 * follow reads live events until the signal, and connects again when the stream ends. It is fetch and not EventSource, which sends no token.
 * opened is called after each attempt to connect, and when the node has dropped events: what was read before may be out of date.
 */
export async function follow(query, { event, opened, state }, signal) {
  for (let wait = 500; !signal.aborted; wait = Math.min(2 * wait, 10000)) {
    try {
      const answer = await send('events', { query, signal, headers: headers({ Accept: 'text/event-stream' }) });
      state('live');
      opened();
      wait = 500;
      await events(answer.body, (kind, data) => {
        if (kind === 'lost' || kind === 'node') opened(); // a node has come or gone
        else event(kind, data);
      });
    } catch (err) {
      if (signal.aborted) break;
      if (err instanceof Refusal && (err.status === 401 || err.status === 403)) {
        state('not live');
        opened();
        return;
      }
      opened();
    }
    if (!signal.aborted) state('reconnecting');
    await pause(wait, signal);
  }
}

async function events(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      let kind = 'message';
      const data = [];
      for (const line of block.split('\n')) {
        if (line.startsWith('event: ')) kind = line.slice(7);
        else if (line.startsWith('data: ')) data.push(line.slice(6));
      }
      if (data.length) take(kind, parse(data.join('\n')));
    }
  }
}

/** throttled returns a function that calls run soon, and not more often than every ms milliseconds, and never twice at a time. */
export function throttled(run, ms, signal) {
  let wanted = false;
  let busy = false;
  return async () => {
    wanted = true;
    if (busy) return;
    busy = true;
    while (wanted && !signal.aborted) {
      wanted = false;
      const began = performance.now();
      await run();
      await pause(Math.max(ms, 4 * (performance.now() - began)), signal); // a slow answer is asked for more rarely
    }
    busy = false;
  };
}
