/** The tasks that the agent delegates to others. */
import { Malformed, RibosomeError, TimedOut, Withdrawn } from "./errors.js";
import { REFUSALS, refusalOf, resultOf, updateOf } from "./messages.js";
/** A task that another agent performs. */
export class Delegation {
    make;
    send;
    grace;
    options;
    /** The conversation id. */
    id;
    /** The agent to which the task was delegated. */
    agent;
    /** Becomes true when the worker accepts the task, and false when it ends without that and without a result. It does not reject. */
    accepted;
    #result;
    #settle;
    #accept;
    #timer;
    #error;
    #done = false;
    #withdrawn = false;
    /** @internal */
    constructor(request, agent, make, send, grace, options) {
        this.make = make;
        this.send = send;
        this.grace = grace;
        this.options = options;
        const { timeout = 60_000, signal } = options;
        this.id = request.message_id;
        this.agent = agent;
        this.accepted = new Promise((resolve) => { this.#accept = resolve; });
        this.#result = new Promise((resolve, reject) => { this.#settle = { resolve, reject }; });
        this.#result.catch(() => { }); // a caller need not wait for the end
        this.#timer = setTimeout(() => this.#late(timeout), Math.min(timeout, 2 ** 31 - 1));
        const withdraw = () => this.#cancel("the caller needs it no longer");
        signal?.addEventListener("abort", withdraw, { once: true });
        void this.#result.catch(() => { }).then(() => signal?.removeEventListener("abort", withdraw));
    }
    /** Whether it has ended. */
    get done() {
        return this.#done;
    }
    /** Waits for the end. Rejects with Rejected, Failed, TimedOut, Withdrawn, Malformed or Disconnected. */
    result() {
        return this.#result;
    }
    /**
     * Withdraws the task, and waits for the receipt, 5 s at most. Returns whether it came: the work has stopped. Returns false
     * if the task had ended before, whose result stands, and if the worker does not answer.
     */
    async cancel(reason = "") {
        this.#cancel(reason);
        await this.#result.catch(() => { });
        return this.#error instanceof Withdrawn && this.#error.confirmed;
    }
    /** @internal Takes a message of the conversation. Throws Malformed, which ends it. */
    take(m) {
        try {
            this.#take(m);
        }
        catch (why) {
            if (why instanceof Malformed)
                this.#fail(why);
            throw why;
        }
    }
    #take(m) {
        switch (m.performative) {
            case "TASK_ACCEPT":
                return this.#accept(true);
            case "STATUS_UPDATE": {
                const update = updateOf(m);
                this.#accept(true);
                if (!this.#withdrawn)
                    this.options.progress?.(update);
                return;
            }
            case "INFORM_RESULT": {
                const result = resultOf(m);
                if (result.status === "partial_success" && "request_for_user" in result.details)
                    this.#sayCancel("no more input is given"); // else the worker waits for it
                return this.#succeed(result);
            }
            case "INFORM":
                return this.#fail(this.#withdrawn ? new Withdrawn(true) : new Malformed(`INFORM from ${this.agent}, which is no answer to a task`));
        }
        if (REFUSALS.includes(m.performative))
            this.#fail(refusalOf(m));
    }
    /** @internal Ends it because the connection is lost, or the request was not sealed. */
    lose(why) {
        this.#fail(why);
    }
    #cancel(reason) {
        if (this.#done || this.#withdrawn)
            return;
        this.#withdrawn = true;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#fail(new Withdrawn(false, `${this.agent} has not confirmed that it stopped`)), this.grace);
        this.#sayCancel(reason);
    }
    #late(timeout) {
        this.#cancel("the deadline has passed");
        this.#fail(new TimedOut(`${this.agent} has not answered within ${timeout} ms`));
    }
    #sayCancel(reason) {
        this.send(this.make("CANCEL", this.agent, reason ? { reason } : {}, { conversation_id: this.id, in_reply_to: this.id }));
    }
    #succeed(result) {
        if (this.#end()) {
            this.#accept(true);
            this.#settle.resolve(result);
        }
    }
    #fail(why) {
        if (this.#end()) {
            this.#error = why;
            this.#accept(false);
            this.#settle.reject(why);
        }
    }
    #end() {
        if (this.#done)
            return false;
        clearTimeout(this.#timer);
        return (this.#done = true);
    }
}
