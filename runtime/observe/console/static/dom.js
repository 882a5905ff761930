// Elements and texts. Whatever comes from the node becomes a text node here: nothing in the console makes markup of text.

const marks = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * shown returns text with control characters, bidirectional overrides and other invisible characters made visible. With lines, line feeds and tabs stay.
 */
export function shown(text, lines = false) {
  return String(text).replace(marks, (c) => {
    if (lines && (c === '\n' || c === '\t')) return c;
    const code = c.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
  });
}

const svgSpace = 'http://www.w3.org/2000/svg';

/** h returns an element. Properties are attributes, except class, on (listeners by event) and those that are null. Strings become text. */
export function h(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children);
}

/** svg is h for the elements of a drawing. */
export function svg(name, properties = {}, ...children) {
  return fill(document.createElementNS(svgSpace, name), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  append(element, children);
  return element;
}

/** append adds nodes, lists of nodes and texts. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : shown(child));
  }
}

/** replace exchanges the children of an element. */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** name returns an element with a text of an agent or of a message, apart from the direction of the text around it. */
export function name(text) {
  return h('bdi', { class: 'name' }, text || '–');
}

/** clock returns a time of day with its milliseconds. */
export function clock(time) {
  const t = new Date(time);
  if (Number.isNaN(t.getTime())) return '–';
  const two = (n) => String(n).padStart(2, '0');
  return `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}.${String(t.getMilliseconds()).padStart(3, '0')}`;
}

/** when returns an element with a time of day; its title is the whole time. */
export function when(time) {
  return h('time', { datetime: String(time), title: String(time) }, clock(time));
}

/** fraction returns the part of a millisecond of a time of the node, which Date leaves out. */
export const fraction = (time) => Number(`0.${/\.\d{3}(\d*)/.exec(time)?.[1] || 0}`);

/** between returns the milliseconds between two times of the node. */
export function between(from, to) {
  return Date.parse(to) - Date.parse(from) + fraction(to) - fraction(from);
}

/** duration returns milliseconds as text. */
export function duration(ms) {
  if (!Number.isFinite(ms)) return '–';
  const sign = ms < 0 ? '−' : '';
  const abs = Math.abs(ms);
  if (abs < 1) return `${sign}${abs.toFixed(2)} ms`;
  if (abs < 1000) return `${sign}${Math.round(abs)} ms`;
  const s = abs / 1000;
  if (s < 60) return `${sign}${s.toFixed(1)} s`;
  if (s < 3600) return `${sign}${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  if (s < 172800) return `${sign}${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${sign}${Math.floor(s / 86400)} d`;
}

/** number returns a number with separators of thousands, or a dash when the node does not say. */
export function number(n) {
  return n === undefined || n === null ? '–' : Number(n).toLocaleString('en');
}

/** json returns a value for people to read: JSON, except that a text of several lines is written as lines that begin with a bar. */
export function json(value, indent = '') {
  const inner = indent + '  ';
  if (typeof value === 'string' && value.includes('\n')) {
    return value.replace(/\n$/, '').split('\n').map((line) => `\n${inner}│ ${line}`).join('');
  }
  if (value === null || typeof value !== 'object' || JSON.isRawJSON?.(value)) return JSON.stringify(value);
  const members = Array.isArray(value) ? value.map((v) => [null, v]) : Object.entries(value);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  if (members.length === 0) return open + close;
  const lines = members.map(([key, v]) => `\n${inner}${key === null ? '' : `${JSON.stringify(key)}: `}${json(v, inner)}`);
  return `${open}${lines.join(',')}\n${indent}${close}`;
}

/** missing returns an element that says which nodes of the cluster have not answered; nothing when all have. */
export function missing(view) {
  return (view.missing || []).map((m) => h('p', { class: 'missing' }, 'Without the node ', name(m.node), ': ', m.why));
}

/** alertText shows a text above the view until the next one; without a text it shows none. */
export function alertText(text) {
  const box = document.getElementById('alert');
  if (box.hidden === !text && box.textContent === (text || '')) return;
  box.hidden = !text;
  replace(box, text || '');
}
