/**
 * Agents of a Ribosome node in JavaScript, over WebSocket: in browsers and in Node.js (22 or later, or
 * 20 with --experimental-websocket), without dependencies.
 *
 *     const agent = new Agent("Factorizer");
 *     agent.tool("prime_factors", "Factorizes a number.", schema, async ({ n }, { progress, signal }) => {
 *       progress(0.5, "half of it");
 *       const { primes } = await agent.call("Arithmetic", "is_prime", { numbers: [n] }, { signal });
 *       return { factors: primes };
 *     });
 *     await agent.run("ws://127.0.0.1:8443/mcp");
 *
 * A text frame is one envelope (wire, "Wire Message Structure"), with a JSON-RPC message as its mcp_payload.
 */

/** Milliseconds without a message from the node before a ping, and before the connection counts as lost. */
const PING_AFTER = 30_000;
const DEAD_AFTER = 60_000;

/** The codes of JSON-RPC errors (addenda, section 5). */
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;
const UNAUTHORIZED = -32001;
const FORBIDDEN = -32002;
const UNAVAILABLE = -32004;

/** A refused or failed request. */
export class Refused extends Error {
  /**
   * @param {number} code of JSON-RPC
   * @param {string} message
   * @param {object} [data]
   */
  constructor(code, message, data) {
    super(message);
    this.name = "Refused";
    this.code = code;
    this.data = data;
  }
}

/** A tool throws it if its arguments are invalid. */
export class InvalidArguments extends Refused {
  /** @param {string} message */
  constructor(message) {
    super(INVALID_PARAMS, message);
  }
}

/**
 * @typedef {object} Call a call of a tool, besides its arguments
 * @property {string} from the id of the caller
 * @property {AbortSignal} signal aborted when the call is cancelled or the connection is lost
 * @property {(done: number, message: string) => void} progress reports to the caller: from 0 to 1, and a text
 */

/** An agent that joins a node, offers tools, and calls those of others. */
export class Agent {
  #tools = new Map(); // by name: the description of the tool, and its function
  #waiting = new Map(); // by JSON-RPC id: our requests
  #running = new Map(); // by JSON-RPC id: the AbortControllers of the calls that we serve
  #socket = null;
  #ids = 0;

  /**
   * @param {string} id the agent id
   * @param {object} [options]
   * @param {() => string} [options.token] returns the token for each message
   * @param {(direction: "sent" | "received", envelope: object) => void} [options.trace] called for every message
   */
  constructor(id, { token, trace = () => {} } = {}) {
    this.id = id;
    this.token = token;
    this.trace = trace;
  }

  /**
   * Offers a tool. The member summary of its result, if it has one, is shown to people.
   *
   * @param {string} name
   * @param {string} description
   * @param {object} inputSchema a JSON Schema
   * @param {(args: object, call: Call) => Promise<object>} run
   */
  tool(name, description, inputSchema, run) {
    this.#tools.set(name, { offer: { name, description, inputSchema }, run });
  }

  /**
   * Runs the agent until signal aborts, and reconnects when the connection is lost. Throws Refused if the
   * node rejects the agent.
   *
   * @param {string} url
   * @param {object} [options]
   * @param {AbortSignal} [options.signal]
   * @param {() => void} [options.joined] called each time
   * @param {(why: string) => void} [options.lost] called each time
   */
  async run(url, { signal, joined = () => {}, lost = () => {} } = {}) {
    for (let failures = 0; !signal?.aborted; failures++) {
      const why = await this.#session(url, signal, () => {
        failures = 0;
        joined();
      });
      if (signal?.aborted) return;
      lost(why);
      const wait = Math.min(100 * 2 ** failures, 30_000) * (0.5 + Math.random() / 2);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, wait);
        signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
      });
    }
  }

  /**
   * Calls a tool of an agent. Throws Refused, or an Error when the connection is lost.
   *
   * @param {string} agent or namespace
   * @param {string} name
   * @param {object} args
   * @param {object} [options]
   * @param {AbortSignal} [options.signal] withdraws the call
   * @param {(done: number, message: string) => void} [options.progress] from 0 to 1, and a text
   * @param {number} [options.timeout] in milliseconds
   * @returns {Promise<object>}
   */
  async call(agent, name, args, { signal, progress, timeout = 60_000 } = {}) {
    const result = await this.#request("tools/call", { name, arguments: args }, { agent, signal, progress, timeout });
    const text = result.content?.map((part) => part.text ?? "").join("\n") ?? "";
    if (result.isError) throw new Refused(INTERNAL, text, result.structuredContent);
    return result.structuredContent ?? { text };
  }

  /** Runs one connection. Returns the reason of its end. */
  #session(url, signal, joined) {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url);
      let heard = Date.now();
      let fatal = null;
      const alive = setInterval(() => {
        if (Date.now() - heard >= DEAD_AFTER) end("the node is silent");
        else if (Date.now() - heard >= PING_AFTER) this.#request("ping", {}).catch(() => {});
      }, PING_AFTER / 3);
      const stop = () => socket.close(1000, "the agent stops");
      const end = (why) => { // does not wait for the close event, which a dead socket raises late
        clearInterval(alive);
        signal?.removeEventListener("abort", stop);
        socket.onopen = socket.onmessage = socket.onclose = socket.onerror = null;
        socket.close();
        this.#socket = null;
        for (const call of this.#running.values()) call.abort(new Error(why));
        for (const request of this.#waiting.values()) request.reject(new Error(why));
        this.#running.clear();
        this.#waiting.clear();
        if (fatal) reject(fatal);
        else resolve(why);
      };
      signal?.addEventListener("abort", stop);
      socket.onopen = () => {
        this.#socket = socket;
        this.#introduce().then(joined, (why) => {
          if (why instanceof Refused && [UNAUTHORIZED, FORBIDDEN, INVALID_PARAMS].includes(why.code)) fatal = why;
          socket.close(1000, "the node does not want this agent");
        });
      };
      socket.onmessage = ({ data }) => {
        heard = Date.now();
        if (this.#socket) this.#receive(JSON.parse(data));
      };
      socket.onclose = ({ code, reason }) => end(reason || `the connection was closed (${code})`);
      socket.onerror = () => {}; // a close follows
    });
  }

  /** Introduces the agent with its tools. */
  #introduce() {
    return this.#request("initialize", {
      protocolVersion: "1.1",
      supportedVersions: ["1.0", "1.1"],
      clientInfo: { name: this.id, version: "1.0.0" },
      capabilities: { tools: this.#offers() },
    });
  }

  #offers() {
    return [...this.#tools.values()].map(({ offer }) => offer);
  }

  /** Sends a request and waits for its answer. */
  #request(method, params, { agent, signal, progress, timeout } = {}) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const id = ++this.#ids;
      const withdraw = () => {
        settle();
        this.#send({ method: "notifications/cancelled", params: { requestId: id, reason: "no longer needed" } }, { agent });
        reject(signal.reason);
      };
      const settle = () => {
        this.#waiting.delete(id);
        signal?.removeEventListener("abort", withdraw);
      };
      this.#waiting.set(id, {
        progress,
        resolve: (result) => { settle(); resolve(result); },
        reject: (why) => { settle(); reject(why); },
      });
      signal?.addEventListener("abort", withdraw);
      const meta = progress && { _meta: { progressToken: id } };
      const sent = this.#send({ id, method, params: { ...params, ...meta } }, { agent, timeout });
      if (!sent) this.#waiting.get(id).reject(new Error("the node is not connected"));
    });
  }

  /** Handles a message from the node. */
  #receive(envelope) {
    this.trace("received", envelope);
    const { mcp_payload: message, error } = envelope;
    if (!message) {
      console.warn(`the node says ${error?.code}: ${error?.message}`);
    } else if (message.method && message.id !== undefined) {
      this.#serve(envelope, message);
    } else if (message.method === "notifications/progress") {
      const { progressToken, progress, total = 1, message: text = "" } = message.params;
      this.#waiting.get(progressToken)?.progress?.(progress / total, text);
    } else if (message.method === "notifications/cancelled") {
      this.#running.get(message.params.requestId)?.abort(new Error(message.params.reason || "cancelled"));
    } else if (message.error) {
      this.#waiting.get(message.id)?.reject(new Refused(message.error.code, message.error.message, message.error.data));
    } else if ("result" in message) {
      this.#waiting.get(message.id)?.resolve(message.result);
    }
  }

  /** Answers a request, on the connection on which it arrived. */
  async #serve(envelope, { id, method, params }) {
    const socket = this.#socket;
    const answer = (outcome) => this.#send({ id, ...outcome }, { correlation: envelope.id, socket });
    try {
      if (method === "ping") answer({ result: {} });
      else if (method === "tools/list") answer({ result: { tools: this.#offers() } });
      else if (method === "tools/call") answer({ result: await this.#perform(envelope, id, params, socket) });
      else throw new Refused(METHOD_NOT_FOUND, "Method not found");
    } catch (why) {
      if (!(why instanceof Refused)) console.error(why); // the node gets no details of the failure
      const { code, message } = why instanceof Refused ? why : { code: INTERNAL, message: "the tool failed" };
      answer({ error: { code, message } });
    }
  }

  /** Runs a tool. A cancelled call is answered with an error after the tool has stopped. */
  async #perform(envelope, id, { name, arguments: args = {}, _meta: meta }, socket) {
    const tool = this.#tools.get(name);
    if (!tool) throw new Refused(METHOD_NOT_FOUND, `there is no tool ${name}`);
    const call = new AbortController();
    this.#running.set(id, call);
    const { timeout_ms: left } = envelope.metadata ?? {};
    const deadline = left && setTimeout(() => call.abort(new Error("the deadline has passed")), Math.min(left, 2 ** 31 - 1));
    const progress = (done, message) => {
      if (meta?.progressToken === undefined) return;
      const params = { progressToken: meta.progressToken, progress: done, total: 1, message };
      this.#send({ method: "notifications/progress", params }, { socket });
    };
    try {
      const { summary, ...details } = await tool.run(args, { from: envelope.source, signal: call.signal, progress });
      return { content: [{ type: "text", text: summary ?? JSON.stringify(details) }], structuredContent: details };
    } catch (why) {
      if (call.signal.aborted) throw new Refused(UNAVAILABLE, call.signal.reason.message);
      throw why;
    } finally {
      clearTimeout(deadline);
      if (this.#running.get(id) === call) this.#running.delete(id);
    }
  }

  /** Sends a JSON-RPC message, and reports whether there is a connection. */
  #send(message, { agent, correlation, timeout, socket = this.#socket } = {}) {
    if (!socket || socket !== this.#socket) return false;
    const envelope = {
      id: crypto.randomUUID(),
      timestamp: new Date().toISOString(),
      source: this.id,
      ...(agent && { target_namespace: agent }),
      ...(this.token && { auth_token: `Bearer ${this.token()}` }),
      ...(correlation && { correlation_id: correlation }),
      ...(timeout && { metadata: { timeout_ms: timeout } }),
      mcp_payload: { jsonrpc: "2.0", ...message },
    };
    this.trace("sent", envelope);
    socket.send(JSON.stringify(envelope));
    return true;
  }
}
