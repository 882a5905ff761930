/** The tasks that the agent delegates to others. */

import { Malformed, RibosomeError, TimedOut, Withdrawn } from "./errors.js";
import { REFUSALS, refusalOf, resultOf, updateOf, type JSONObject, type Message, type Result, type Update } from "./messages.js";
import type { Make } from "./works.js";

/** How to delegate. */
export interface DelegateOptions {
  /** For people. */
  description?: string;
  /** Milliseconds until the answer; one minute by default. Then the task is withdrawn. */
  timeout?: number;
  /** Is called with each report of progress. */
  progress?: (update: Update) => void;
  /** Withdraws the task when it aborts. */
  signal?: AbortSignal;
  /** Further members of the message, such as ontology. */
  more?: JSONObject;
}

/** A task that another agent performs. */
export class Delegation {
  /** The conversation id. */
  readonly id: string;
  /** The agent to which the task was delegated. */
  readonly agent: string;
  /** Becomes true when the worker accepts the task, and false when it ends without that and without a result. It does not reject. */
  readonly accepted: Promise<boolean>;
  #result: Promise<Result>;
  #settle!: { resolve: (r: Result) => void; reject: (why: unknown) => void };
  #accept!: (yes: boolean) => void;
  #timer: ReturnType<typeof setTimeout>;
  #error: unknown;
  #done = false;
  #withdrawn = false;

  /** @internal */
  constructor(
    request: Message, agent: string, private readonly make: Make, private readonly send: (m: Message) => void,
    private readonly grace: number, private readonly options: DelegateOptions,
  ) {
    const { timeout = 60_000, signal } = options;
    this.id = request.message_id;
    this.agent = agent;
    this.accepted = new Promise((resolve) => { this.#accept = resolve; });
    this.#result = new Promise((resolve, reject) => { this.#settle = { resolve, reject }; });
    this.#result.catch(() => {}); // a caller need not wait for the end
    this.#timer = setTimeout(() => this.#late(timeout), Math.min(timeout, 2 ** 31 - 1));
    const withdraw = () => this.#cancel("the caller needs it no longer");
    signal?.addEventListener("abort", withdraw, { once: true });
    void this.#result.catch(() => {}).then(() => signal?.removeEventListener("abort", withdraw));
  }

  /** Whether it has ended. */
  get done(): boolean {
    return this.#done;
  }

  /** Waits for the end. Rejects with Rejected, Failed, TimedOut, Withdrawn, Malformed or Disconnected. */
  result(): Promise<Result> {
    return this.#result;
  }

  /**
   * Withdraws the task, and waits for the receipt, 5 s at most. Returns whether it came: the work has stopped. Returns false
   * if the task had ended before, whose result stands, and if the worker does not answer.
   */
  async cancel(reason = ""): Promise<boolean> {
    this.#cancel(reason);
    await this.#result.catch(() => {});
    return this.#error instanceof Withdrawn && this.#error.confirmed;
  }

  /** @internal Takes a message of the conversation. Throws Malformed, which ends it. */
  take(m: Message): void {
    try {
      this.#take(m);
    } catch (why) {
      if (why instanceof Malformed) this.#fail(why);
      throw why;
    }
  }

  #take(m: Message): void {
    switch (m.performative) {
      case "TASK_ACCEPT":
        return this.#accept(true);
      case "STATUS_UPDATE": {
        const update = updateOf(m);
        this.#accept(true);
        if (!this.#withdrawn) this.options.progress?.(update);
        return;
      }
      case "INFORM_RESULT": {
        const result = resultOf(m);
        if (result.status === "partial_success" && "request_for_user" in result.details) this.#sayCancel("no more input is given"); // else the worker waits for it
        return this.#succeed(result);
      }
      case "INFORM":
        return this.#fail(this.#withdrawn ? new Withdrawn(true) : new Malformed(`INFORM from ${this.agent}, which is no answer to a task`));
    }
    if (REFUSALS.includes(m.performative)) this.#fail(refusalOf(m));
  }

  /** @internal Ends it because the connection is lost, or the request was not sealed. */
  lose(why: RibosomeError): void {
    this.#fail(why);
  }

  #cancel(reason: string): void {
    if (this.#done || this.#withdrawn) return;
    this.#withdrawn = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail(new Withdrawn(false, `${this.agent} has not confirmed that it stopped`)), this.grace);
    this.#sayCancel(reason);
  }

  #late(timeout: number): void {
    this.#cancel("the deadline has passed");
    this.#fail(new TimedOut(`${this.agent} has not answered within ${timeout} ms`));
  }

  #sayCancel(reason: string): void {
    this.send(this.make("CANCEL", this.agent, reason ? { reason } : {}, { conversation_id: this.id, in_reply_to: this.id }));
  }

  #succeed(result: Result): void {
    if (this.#end()) {
      this.#accept(true);
      this.#settle.resolve(result);
    }
  }

  #fail(why: RibosomeError): void {
    if (this.#end()) {
      this.#error = why;
      this.#accept(false);
      this.#settle.reject(why);
    }
  }

  #end(): boolean {
    if (this.#done) return false;
    clearTimeout(this.#timer);
    return (this.#done = true);
  }
}
