/** The node's side of a connection, for tests: it reads and writes what a test says. */

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

import { Agent } from "ribosome-client";

/** A queue whose take waits. */
export class Queue {
  #items = [];
  #waiting = [];
  put(item) {
    const take = this.#waiting.shift();
    if (take) take(item);
    else this.#items.push(item);
  }
  take() {
    return this.#items.length > 0 ? Promise.resolve(this.#items.shift()) : new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Returns a frame of a server, which is not masked. */
export function frame(opcode, payload = "", { fin = true, bits = 0, masked = false } = {}) {
  const data = Buffer.from(payload);
  const head = Buffer.alloc(data.length < 126 ? 2 : data.length < 65536 ? 4 : 10);
  head[0] = (fin ? 0x80 : 0) | bits | opcode;
  head[1] = (masked ? 0x80 : 0) | (head.length === 2 ? data.length : head.length === 4 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(data.length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(data.length), 2);
  return Buffer.concat([head, data]);
}

/** Returns a close frame. */
export function close(code, reason = "") {
  return frame(8, Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]));
}

/** Accepts connections, one after the other. */
export class FakeNode {
  #accepted = new Queue();
  #streams = [];
  #ids = 0;
  status = 101; // of the answer to an upgrade

  async start() {
    this.server = createServer((request, response) => response.writeHead(404).end());
    this.server.on("upgrade", (request, stream) => this.#upgrade(request, stream));
    await once(this.server.listen(0, "127.0.0.1"), "listening");
    this.url = `ws://127.0.0.1:${this.server.address().port}/mcp`;
  }

  #upgrade(request, stream) {
    stream.on("error", () => {});
    if (this.status !== 101) return stream.end(`HTTP/1.1 ${this.status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
    stream.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${this.accept ?? accept}\r\n\r\n`);
    this.#streams.push(stream);
    const frames = new Queue();
    let rest = Buffer.alloc(0);
    stream.on("data", (data) => {
      rest = Buffer.concat([rest, data]);
      for (let one; (one = parse(rest)); rest = rest.subarray(one.size)) frames.put(one);
    });
    stream.on("close", () => frames.put({ opcode: -1 }));
    this.#accepted.put({ stream, frames, request });
  }

  /** Takes the next connection and its introduction. */
  async accepted(welcome = true) {
    Object.assign(this, await this.#accepted.take());
    this.hello = await this.receive("QUERY_CAPABILITIES");
    if (welcome) this.reply(this.hello, "INFORM_CAPABILITIES", { status: "success", capabilities: {} });
  }

  async receive(act) {
    const { opcode, payload } = await this.frames.take();
    if (opcode !== 1) throw new Error(`got a frame ${opcode} ${payload}`);
    const m = JSON.parse(payload);
    if (act && m.performative !== act) throw new Error(`got ${payload}, want ${act}`);
    return m;
  }

  send(act, payload, more = {}) {
    const m = {
      message_id: `n${++this.#ids}`, performative: act, sender: { agent_id: "Host" }, receiver: { agent_id: "Ann" },
      timestamp: "2026-11-21T14:00:00Z", payload, ...more,
    };
    this.stream.write(frame(1, JSON.stringify(m)));
    return m.message_id;
  }

  task(kind, parameters = {}, more = {}) {
    return this.send("TASK_REQUEST", { task_type: kind, task_parameters: parameters }, { reply_with: "r", ...more });
  }

  reply(m, act, payload, more = {}) {
    return this.send(act, payload, { in_reply_to: m.message_id, conversation_id: m.conversation_id ?? m.message_id, ...more });
  }

  /** Checks that the agent sends nothing before it answers a request that it does not know. */
  async quiet() {
    this.send("QUERY_IF", { condition: {} }, { message_id: "quiet", reply_with: "quiet" });
    const m = await this.receive("NOT_UNDERSTOOD");
    if (m.in_reply_to !== "quiet") throw new Error(`got ${JSON.stringify(m)}`);
  }

  stop() {
    this.server.close();
    for (const stream of this.#streams) stream.destroy();
  }
}

/** Returns a frame of the client, if it is complete. */
function parse(data) {
  if (data.length < 6) return undefined;
  if ((data[1] & 0x80) === 0) throw new Error("a frame of a client is not masked");
  let length = data[1] & 0x7f;
  let start = 2;
  if (length === 126) [length, start] = [data.readUInt16BE(2), 4];
  else if (length === 127) [length, start] = [Number(data.readBigUInt64BE(2)), 10];
  const size = start + 4 + length;
  if (data.length < size) return undefined;
  const payload = Buffer.from(data.subarray(start + 4, size));
  for (let i = 0; i < length; i++) payload[i] ^= data[start + (i & 3)];
  return { opcode: data[0] & 0x0f, payload, size };
}

/** Runs test with an agent that has joined a fake node. running is the promise of the agent's run. */
export async function joined(agent, test) {
  const node = new FakeNode();
  await node.start();
  const stop = new AbortController();
  let running;
  try {
    const ready = new Promise((resolve) => { running = agent.run(node.url, { signal: stop.signal, joined: resolve }); });
    running.catch(() => {});
    await node.accepted();
    await ready;
    await test(node, running);
  } finally {
    stop.abort();
    node.stop();
    await running.catch(() => {});
  }
}

/** Returns an agent for tests. */
export const ann = (options) => new Agent("Ann", { backoff: [5, 50], grace: 50, log: () => {}, ...options });
