import { Delegation, type DelegateOptions } from "./delegations.js";
import { Disconnected, Malformed, Refused, Rejected, RibosomeError } from "./errors.js";
import { checked, conversationOf, decode, isObject, message, refusalOf, rejection, senderOf, type JSONObject, type Message, type Result } from "./messages.js";
import { MAX_CLEAR, Sealer, isPublic, type SealOptions } from "./sealed.js";
import { MAX_MESSAGE, PING_AFTER, DEAD_AFTER, checkURL, type ConnectOptions, type Open, type Socket } from "./socket.js";
import { Works, type Handler, type Line } from "./works.js";

const NODE = "system"; // the id of the node itself, the receiver of an introduction
const JOIN_TIME = 10_000; // milliseconds in which the node must answer the introduction
const STEADY = 10_000; // milliseconds of a connection after which the backoff starts again
const FINAL = ["unauthorized", "forbidden"]; // the codes after which the agent does not connect again
const CROWDED = 1 << 20; // bytes that wait to be written, above which progress is left out

/** The options of an agent. */
export interface AgentOptions extends ConnectOptions {
  /** What the agent knows about, for discovery. */
  topics?: string[];
  /** The token of the agent, or a function that returns it for each message. */
  token?: string | (() => string);
  /** The keys with which all payloads of the agent are sealed, in both directions. Without them, none is. */
  seal?: SealOptions;
  /** The largest number of tasks at a time, 16 by default; further ones are rejected as "busy". */
  maxTasks?: number;
  /** Milliseconds in which a withdrawn task must end; 5 s by default. */
  grace?: number;
  /** The first and the longest delay in milliseconds before the agent connects again; 100 and 30,000 by default. */
  backoff?: [number, number];
  /** Is called for each message that is sent or received. */
  trace?: (direction: "sent" | "received", m: JSONObject) => void;
  /** Is called for a fault of a task's function, and for a malformed message; console.error by default. */
  log?: (text: string, why: unknown) => void;
}

/** How to run. */
export interface RunOptions {
  /** Ends the run. */
  signal?: AbortSignal;
  /** Is called each time when the node knows the agent. */
  joined?: () => void;
  /** Is called each time when the connection is lost, or can't be made. */
  lost?: (why: RibosomeError) => void;
}

/** The description of a task, for discovery. schema is the JSON Schema of its parameters, which nobody checks for you. */
export interface TaskDescription {
  description?: string;
  schema?: JSONObject;
}

/** An agent that performs tasks for others, and delegates tasks to them. */
export class BaseAgent {
  readonly id: string;
  #options: AgentOptions;
  #open: Open;
  #works: Works;
  #line: SocketLine | undefined; // from the introduction to the end of the connection
  #asked = new Map<string, Delegation>(); // by conversation
  #running = false;
  #sealer: Sealer | undefined;

  constructor(id: string, options: AgentOptions, open: Open) {
    if (!id) throw new TypeError("id: want a name");
    this.id = id;
    this.#options = options;
    this.#open = open;
    this.#works = new Works(this.#make, {
      maxTasks: options.maxTasks ?? 16, grace: this.#grace, failed: (why, task) => this.#log(`${id}: the task ${task} failed`, why),
    });
  }

  get #grace(): number {
    return this.#options.grace ?? 5_000;
  }

  #log(text: string, why: unknown): void {
    (this.#options.log ?? console.error)(text, why);
  }

  /** Registers the function of a task. Register tasks before the agent runs. */
  task(name: string, about: string | TaskDescription, handler: Handler): this {
    const { description = "", schema } = typeof about === "string" ? { description: about } : about;
    this.#works.register(name, { name, description, ...(schema && { input_schema: schema }) }, handler);
    return this;
  }

  /**
   * Runs the agent until the signal aborts. url is such as ws://127.0.0.1:8443/mcp, or wss:// for TLS. A lost connection ends all
   * tasks and delegations of it, and the agent connects again. Throws Refused if the node does not want the agent.
   */
  async run(url: string, { signal, joined = () => {}, lost = () => {} }: RunOptions = {}): Promise<void> {
    checkURL(url);
    if (this.#running) throw new Error(`${this.id} runs already`);
    this.#running = true;
    const [first, longest] = this.#options.backoff ?? [100, 30_000];
    try {
      if (this.#options.seal) this.#sealer ??= await Sealer.of(this.id, this.#options.seal);
      for (let failures = 0; !signal?.aborted;) {
        const began = Date.now();
        const why = await this.#session(url, signal, joined).catch(asError);
        if (signal?.aborted) return;
        if (!(why instanceof RibosomeError)) throw why;
        if (why instanceof Refused && FINAL.includes(why.code)) throw why;
        lost(why);
        failures = Date.now() - began >= STEADY ? 0 : Math.min(failures + 1, 20);
        await pause(Math.min(first * 2 ** failures, longest) * (0.5 + Math.random() / 2), signal);
      }
    } finally {
      this.#running = false;
    }
  }

  /**
   * Runs the agent while use runs, which is called when the node knows the agent. Throws Disconnected if there is no node within wait
   * milliseconds, 10 s by default.
   */
  async joined<T>(url: string, use: (agent: this) => Promise<T>, { wait = JOIN_TIME }: { wait?: number } = {}): Promise<T> {
    const stop = new AbortController();
    let ready!: () => void;
    let reason: RibosomeError = new Disconnected(`${url} has not answered within ${wait} ms`);
    const joined = new Promise<void>((resolve) => { ready = resolve; });
    const running = this.run(url, { signal: stop.signal, joined: ready, lost: (why) => { reason = why; } });
    const late = pause(wait, stop.signal).then(() => { throw reason; });
    late.catch(() => {});
    try {
      await Promise.race([joined, running, late]);
      return await use(this);
    } finally {
      stop.abort();
      await running.catch(() => {});
    }
  }

  /** Runs one connection. Returns the reason of its end. */
  async #session(url: string, signal: AbortSignal | undefined, joined: () => void): Promise<RibosomeError> {
    const end = deferred<RibosomeError>();
    let line: SocketLine | undefined;
    const early: string[] = [];
    const stop = () => (line ? line.socket.close() : end.resolve(new Disconnected("the agent stops")));
    signal?.addEventListener("abort", stop, { once: true });
    const opening = this.#open(url, this.#token(), this.#options, {
      message: (text) => { line ? this.#received(text, line, end) : early.push(text); },
      closed: (code, reason) => end.resolve(reasonOf(code, reason)),
    });
    try {
      const socket = await Promise.race([opening, end.promise]);
      if (socket instanceof RibosomeError) {
        void opening.then((late) => late.abort(), () => {});
        return socket;
      }
      line = new SocketLine(socket, this.#options.trace, this.#sealer, (agent) => this.#statementOf(agent), (m, why) => this.#unsent(m, why));
      if (signal?.aborted) stop();
      this.#introduce(line, end, joined);
      for (const text of early) this.#received(text, line, end);
      return await end.promise;
    } finally {
      signal?.removeEventListener("abort", stop);
      if (line) this.#lose(line);
    }
  }

  #lose(line: SocketLine): void {
    this.#line = undefined;
    line.end();
    const why = new Disconnected("the connection to the node was lost");
    for (const delegation of this.#asked.values()) delegation.lose(why);
    this.#asked.clear();
    this.#works.lose(line);
  }

  /** Introduces the agent. */
  #introduce(line: SocketLine, end: Deferred<RibosomeError>, joined: () => void): void {
    const hello = this.#make("QUERY_CAPABILITIES", NODE, {
      query_type: "summary", capabilities: { topics: this.#options.topics ?? [], actions: this.#works.actions, ...(this.#sealer && { sealed_keys: this.#sealer.statement }) },
    });
    const fail = (why: RibosomeError) => {
      end.resolve(why);
      line.socket.close();
    };
    line.expect(hello.message_id, JOIN_TIME, () => fail(new Disconnected(`the node has not answered the introduction within ${JOIN_TIME} ms`)), (m) => {
      if (m.performative !== "INFORM_CAPABILITIES") {
        const { code, text } = refusalOf(m);
        return fail(new Refused(code, text));
      }
      if (!line.socket.pings) line.keepAlive(() => this.#make("QUERY_CAPABILITIES", NODE, { query_type: "summary" }));
      joined();
    });
    line.send(hello);
    this.#line = line; // before the answer: a task that comes now may delegate
  }

  /** Takes a text frame. What is no JSON object ends the connection. */
  #received(text: string, line: SocketLine, end: Deferred<RibosomeError>): void {
    if (line.ended) return;
    let m: JSONObject;
    try {
      m = decode(text);
    } catch (why) {
      end.resolve(asError(why) as RibosomeError);
      return line.socket.close();
    }
    this.#options.trace?.("received", m);
    line.heard();
    try {
      const message = checked(m);
      if (!this.#sealer) return this.#dispatch(message, line);
      line.open(message, (opened) => this.#dispatch(opened, line), (why) => this.#complain(m, line, why));
    } catch (why) {
      this.#complain(m, line, why);
    }
  }

  /** Asks an agent for the statement of its keys. */
  #statementOf(agent: string): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const line = this.#line;
      const question = this.#make("QUERY_CAPABILITIES", agent, { query_type: "summary" });
      line?.expect(question.message_id, JOIN_TIME, () => resolve(undefined), (m) => {
        if (m.performative !== "INFORM_CAPABILITIES") return reject(refusalOf(m));
        const { capabilities } = m.payload;
        const keys = isObject(capabilities) ? capabilities.sealed_keys : undefined;
        resolve(typeof keys === "string" ? keys : undefined);
      });
      line ? line.send(question) : resolve(undefined);
    });
  }

  /** Ends what waits for the answer to a message that was not sealed, and so not sent. */
  #unsent(m: Message, why: unknown): void {
    const delegation = this.#asked.get(m.message_id);
    if (!delegation || !(why instanceof RibosomeError)) return this.#log(`${this.id}: ${m.performative} was not sealed`, why);
    this.#asked.delete(m.message_id);
    delegation.lose(why);
  }

  #dispatch(m: Message, line: SocketLine): void {
    if (line.answered(m)) return;
    const delegation = this.#asked.get(conversationOf(m));
    if (m.performative === "TASK_REQUEST") return this.#works.begin(m, line);
    if (m.performative === "CANCEL") return this.#works.cancel(m, line);
    if (delegation) {
      try {
        return delegation.take(m);
      } finally {
        if (delegation.done) this.#asked.delete(delegation.id);
      }
    }
    if (m.reply_with) this.#notUnderstood(m, m.message_id, line, "unknown_performative", `${this.id} serves tasks only`);
  }

  /** Answers a message that is not as it should be, or logs it if nobody waits for an answer. */
  #complain(m: JSONObject, line: SocketLine, why: unknown): void {
    this.#log(`${this.id}: a message from ${senderOf(m) || "the node"}`, why);
    if (why instanceof Rejected && why.code !== "replayed" && m.performative === "TASK_REQUEST") {
      return line.send(this.#make("TASK_REJECT", senderOf(m), rejection(why.code, why.text), {
        in_reply_to: m.message_id, conversation_id: conversationOf(m as Message),
      }), true);
    }
    const answers = m.performative === "FAILURE" || m.performative === "NOT_UNDERSTOOD";
    if (why instanceof Malformed && typeof m.message_id === "string" && m.message_id && !answers) this.#notUnderstood(m, m.message_id, line, why.code, why.text);
  }

  #notUnderstood(m: JSONObject, id: string, line: SocketLine, code: string, text: string): void {
    line.send(this.#make("NOT_UNDERSTOOD", senderOf(m) || NODE, rejection(code, text), {
      in_reply_to: id, conversation_id: typeof m.conversation_id === "string" && m.conversation_id ? m.conversation_id : id,
    }), true);
  }

  /**
   * Delegates a task to another agent, and returns its result. The agent "system" is any agent that performs such tasks. Rejects as
   * Delegation.result does; with Disconnected at once if the agent has not joined.
   */
  async delegate(agent: string, taskType: string, parameters: JSONObject = {}, options: DelegateOptions = {}): Promise<Result> {
    return this.start(agent, taskType, parameters, options).result();
  }

  /** Delegates a task as delegate does, and does not wait for its end. Throws Disconnected if the agent has not joined. */
  start(agent: string, taskType: string, parameters: JSONObject = {}, options: DelegateOptions = {}): Delegation {
    const { description = "", timeout = 60_000, signal, more } = options;
    signal?.throwIfAborted();
    if (!this.#line) throw new Disconnected("the node is not connected");
    const request = this.#make("TASK_REQUEST", agent, { task_type: taskType, task_description: description, task_parameters: parameters }, {
      reply_by: new Date(Date.now() + timeout).toISOString(), ...more,
    });
    this.#line.send(request);
    const delegation = new Delegation(request, agent, this.#make, (m) => this.#line?.send(m), this.#grace, options);
    this.#asked.set(delegation.id, delegation);
    return delegation;
  }

  #token(): string | undefined {
    const { token } = this.#options;
    return typeof token === "function" ? token() : token;
  }

  #make = (act: string, receiver: string, payload: JSONObject, more: JSONObject = {}): Message => {
    const token = this.#token();
    return message(act, this.id, receiver, payload, token === undefined ? more : { ...more, auth_token: token });
  };
}

/** Sends messages over a socket. */
class SocketLine implements Line {
  ended = false;
  #heard = Date.now();
  #keeper: ReturnType<typeof setInterval> | undefined;
  #expected = new Map<string, { timer: ReturnType<typeof setTimeout>; take: (m: Message) => void }>();
  #opening: Promise<void> = Promise.resolve(); // the messages that came before are opened
  #sealing = new Map<string, Promise<void>>(); // by receiver: what was sent before is sealed

  constructor(
    readonly socket: Socket, private readonly trace: AgentOptions["trace"], private readonly sealer: Sealer | undefined,
    private readonly lookup: (agent: string) => Promise<string | undefined>, private readonly unsent: (m: Message, why: unknown) => void,
  ) {}

  get crowded(): boolean {
    return this.socket.buffered > CROWDED;
  }

  /**
   * Queues a message, sealed if the agent has keys and the message is not to be plain. Throws a RangeError if it is too long, and a
   * TypeError if JSON can't express it.
   */
  send(m: Message, plain = false): void {
    const text = JSON.stringify(m);
    const sealer = plain || isPublic(m) ? undefined : this.sealer;
    const longest = sealer ? MAX_CLEAR : MAX_MESSAGE;
    const bytes = text.length > longest / 3 ? new TextEncoder().encode(text).length : text.length;
    if (bytes > longest) throw new RangeError(`the message has ${bytes} bytes, more than ${longest}`);
    if (this.ended) return;
    sealer ? this.#seal(sealer, m) : this.#write(m, text);
  }

  #seal(sealer: Sealer, m: Message): void {
    const to = JSON.stringify(m.receiver);
    const sealing = (this.#sealing.get(to) ?? Promise.resolve()).then(async () => {
      const sealed = await sealer.seal(m, this.lookup);
      this.#write(sealed, JSON.stringify(sealed));
    }).catch((why) => this.unsent(m, why)).finally(() => {
      if (this.#sealing.get(to) === sealing) this.#sealing.delete(to);
    });
    this.#sealing.set(to, sealing);
  }

  /** Opens a message after those that came before it. */
  open(m: Message, take: (opened: Message) => void, fail: (why: unknown) => void): void {
    this.#opening = this.#opening.then(async () => {
      const opened = await this.sealer!.open(m);
      if (!this.ended) take(opened);
    }).catch((why) => { if (!this.ended) fail(why); });
  }

  #write(m: Message, text: string): void {
    if (this.ended) return;
    this.trace?.("sent", m);
    this.socket.send(text);
  }

  /** Waits for the answer to the message with the id. */
  expect(id: string, time: number, late: () => void, take: (m: Message) => void): void {
    this.#expected.set(id, { timer: setTimeout(late, time), take });
  }

  /** Reports whether m is the answer that expect waits for. */
  answered(m: Message): boolean {
    const expected = this.#expected.get(m.in_reply_to ?? "");
    if (!expected) return false;
    this.#expected.delete(m.in_reply_to ?? "");
    clearTimeout(expected.timer);
    expected.take(m);
    return true;
  }

  heard(): void {
    this.#heard = Date.now();
  }

  /** Sends a message after a silence, whose answer shows that the node lives. */
  keepAlive(question: () => Message): void {
    this.#keeper = setInterval(() => {
      const silence = Date.now() - this.#heard;
      if (silence >= DEAD_AFTER) this.socket.abort();
      else if (silence >= PING_AFTER) this.send(question());
    }, PING_AFTER / 3);
  }

  end(): void {
    this.ended = true;
    clearInterval(this.#keeper);
    for (const { timer } of this.#expected.values()) clearTimeout(timer);
    this.socket.close();
  }
}

/** Returns the error for the end of a connection. The reason of a close frame begins with a code, if the node refuses something. */
function reasonOf(code: number, reason: string): RibosomeError {
  const [, word, text] = /^([A-Z_]+): (.*)$/s.exec(reason) ?? [];
  if (word !== undefined) return new Refused(word.toLowerCase(), text);
  if (code === 1008) return new Refused("forbidden", reason);
  return new Disconnected(reason || `the node closed the connection (${code})`);
}

function asError(why: unknown): unknown {
  return why;
}

interface Deferred<T> {
  promise: Promise<T>;
  resolve: (value: T) => void;
}

function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((r) => { resolve = r; });
  return { promise, resolve };
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done, { once: true });
  });
}
