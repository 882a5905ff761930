/** The tasks that others have delegated to the agent. */

import { Malformed, Rejected, RibosomeError } from "./errors.js";
import {
  conversationOf, failure, isObject, millisecondsLeft, objectIn, rejection, resultFrom, senderOf, textIn,
  type JSONObject, type Message, type Returned,
} from "./messages.js";

/** A task that another agent delegates to this one. */
export interface Task {
  readonly type: string;
  readonly description: string;
  readonly parameters: JSONObject;
  /** The id of the agent that delegates. */
  readonly asker: string;
  /** Aborts when the task is withdrawn or late, or the connection is lost. The asker gets the receipt when the function has returned. */
  readonly signal: AbortSignal;
  readonly message: Message;
  /** Reports percent from 0 to 100 (undefined if not known), a text and first results. While the node reads too slowly, reports are left out. */
  progress(percent: number | undefined, text?: string, results?: JSONObject): void;
}

/** Performs a task. */
export type Handler = (task: Task) => Returned | Promise<Returned>;

/** The connection of a work. send throws for what is too long or no JSON. */
export interface Line {
  readonly crowded: boolean;
  send(m: Message): void;
}

/** Makes a message of the agent. */
export type Make = (act: string, receiver: string, payload: JSONObject, more?: JSONObject) => Message;

/** A task in its conversation. */
interface Work {
  request: Message;
  line: Line | undefined; // where its asker waits; undefined once that is lost
  stop: AbortController;
  running: Promise<void> | undefined; // while its function runs
  answer: Message | undefined; // the last message sent, except progress
  final: boolean; // answer ends the conversation: nothing follows
  withdrawn: boolean;
  grace: ReturnType<typeof setTimeout> | undefined;
}

const REMEMBERED = 256; // ended tasks whose answers are kept for duplicate requests
const LONGEST = 2 ** 31 - 1; // of a timer

/** The tasks of one agent. */
export class Works {
  readonly actions: JSONObject[] = [];
  #handlers = new Map<string, Handler>();
  #works = new Map<string, Work>(); // by conversation

  constructor(
    private readonly make: Make,
    private readonly options: { maxTasks: number; grace: number; failed: (why: unknown, task: string) => void },
  ) {}

  register(name: string, action: JSONObject, handler: Handler): void {
    if (this.#handlers.has(name)) throw new Error(`the task ${name} has a function already`);
    this.#handlers.set(name, handler);
    this.actions.push(action);
  }

  /** The number of conversations that are remembered. */
  get size(): number {
    return this.#works.size;
  }

  /** Takes a TASK_REQUEST. A duplicate is answered with the last answer, and never starts a task again. */
  begin(m: Message, line: Line): void {
    const known = this.#works.get(conversationOf(m));
    if (known) {
      known.line = line;
      if (known.answer) line.send(known.answer);
      return;
    }
    const work = this.#remember(m, line);
    try {
      this.#consider(work, m);
    } catch (why) {
      if (!(why instanceof RibosomeError)) throw why;
      this.#conclude(work, why instanceof Malformed ? "NOT_UNDERSTOOD" : "TASK_REJECT", rejection(why.code, why.text));
    }
  }

  #consider(work: Work, m: Message): void {
    const task: Task = {
      type: textIn(m.payload, "task_type"), description: textIn(m.payload, "task_description"), parameters: objectIn(m.payload, "task_parameters"),
      asker: senderOf(m), signal: work.stop.signal, message: m,
      progress: (percent, text = "", results = {}) => this.#report(work, percent, text, results),
    };
    const left = millisecondsLeft(m);
    const handler = this.#handlers.get(task.type);
    const busy = [...this.#works.values()].filter(({ running }) => running).length;
    if (!handler) throw new Rejected("incapable", `there is no task ${JSON.stringify(task.type)} here`);
    if (busy >= this.options.maxTasks) throw new Rejected("busy", `${busy} tasks are under way`);
    if (left !== undefined && left <= 0) throw new Rejected("deadline_expired", "the deadline has passed");
    this.#answer(work, "TASK_ACCEPT", { status: "accepted" });
    work.running = this.#perform(work, handler, task, left).finally(() => { work.running = undefined; });
  }

  async #perform(work: Work, handler: Handler, task: Task, left: number | undefined): Promise<void> {
    const late = left === undefined ? undefined : setTimeout(() => this.#late(work), Math.min(left, LONGEST));
    try {
      const { status, summary, details } = resultFrom(await handler(task));
      this.#conclude(work, "INFORM_RESULT", { task_status: status, result_summary: summary, result_details: details });
    } catch (why) {
      this.#fail(work, task, why);
    } finally {
      clearTimeout(late);
      clearTimeout(work.grace);
    }
  }

  #fail(work: Work, task: Task, why: unknown): void {
    if (why instanceof Rejected) return this.#conclude(work, "TASK_REJECT", rejection(why.code, why.text));
    if (why instanceof RibosomeError) return this.#conclude(work, "FAILURE", failure(why.code, why.text));
    if (!work.final && !work.withdrawn) this.options.failed(why, task.type);
    this.#conclude(work, "FAILURE", failure("execution_failed", "the task failed")); // the asker gets no details of the fault
  }

  #late(work: Work): void {
    if (work.withdrawn) return;
    this.#conclude(work, "FAILURE", failure("timeout", "the deadline has passed"));
    work.stop.abort(new Error("the deadline has passed"));
  }

  /** Takes a CANCEL. The receipt is sent when the task's function has returned. */
  cancel(m: Message, line: Line): void {
    const work = this.#works.get(conversationOf(m));
    if (!work) return this.#receipt(this.#remember(m, line)); // it overtakes its request, which then starts nothing
    work.line = line;
    if (work.final && work.answer) return line.send(work.answer);
    if (!work.running || work.withdrawn) return;
    work.withdrawn = true;
    work.grace = setTimeout(() => {
      if (!work.final) this.#last(work, "FAILURE", failure("still_running", "the task does not stop"));
    }, this.options.grace);
    work.stop.abort(new Error(typeof m.payload.reason === "string" ? m.payload.reason : "the task was withdrawn"));
  }

  /** Stops the tasks of a lost connection, whose askers have been told. */
  lose(line: Line): void {
    for (const work of this.#works.values()) {
      if (work.line !== line) continue;
      work.line = undefined;
      if (work.final) continue;
      this.#last(work, "FAILURE", failure("disconnected", "the connection was lost while the task ran"));
      work.stop.abort(new Error("the connection to the node was lost"));
    }
  }

  #report(work: Work, percent: number | undefined, text: string, results: JSONObject): void {
    if (work.final || work.withdrawn || !work.line || work.line.crowded) return;
    if (percent !== undefined && !Number.isFinite(percent)) throw new TypeError("percent: want a number");
    if (!isObject(results)) throw new TypeError("results: want an object");
    work.line.send(this.#message(work, "STATUS_UPDATE", {
      ...(percent !== undefined && { progress_percentage: Math.min(Math.max(percent, 0), 100) }),
      status_description: text,
      ...(Object.keys(results).length > 0 && { intermediate_results: results }),
    }));
  }

  /** Sends the final answer, once. After a CANCEL it is the receipt, whatever the task has returned. */
  #conclude(work: Work, act: string, payload: JSONObject): void {
    if (work.final) return;
    if (work.withdrawn) return this.#receipt(work);
    try {
      this.#last(work, act, payload);
    } catch (why) {
      this.options.failed(why, "its result can't be sent");
      this.#last(work, "FAILURE", failure("execution_failed", "the result can't be sent"));
    }
  }

  #receipt(work: Work): void {
    this.#last(work, "INFORM", { status: "done" });
  }

  #last(work: Work, act: string, payload: JSONObject): void {
    this.#answer(work, act, payload);
    work.final = true;
  }

  #answer(work: Work, act: string, payload: JSONObject): void {
    const answer = this.#message(work, act, payload);
    work.line?.send(answer);
    work.answer = answer;
  }

  #message({ request: m }: Work, act: string, payload: JSONObject): Message {
    return this.make(act, senderOf(m), payload, {
      in_reply_to: m.reply_with || m.message_id, conversation_id: conversationOf(m), ...(m.protocol !== undefined && { protocol: m.protocol }),
    });
  }

  #remember(request: Message, line: Line): Work {
    const ended = [...this.#works].filter(([, work]) => work.final && !work.running).map(([conversation]) => conversation);
    for (const conversation of ended.slice(0, -REMEMBERED)) this.#works.delete(conversation);
    const work: Work = {
      request, line, stop: new AbortController(), running: undefined, answer: undefined, final: false, withdrawn: false, grace: undefined,
    };
    this.#works.set(conversationOf(request), work);
    return work;
  }
}
