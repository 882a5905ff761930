/** The tasks that others have delegated to the agent. */
import { Malformed, Rejected, RibosomeError } from "./errors.js";
import { conversationOf, failure, isObject, millisecondsLeft, objectIn, rejection, resultFrom, senderOf, textIn, } from "./messages.js";
const REMEMBERED = 256; // ended tasks whose answers are kept for duplicate requests
const LONGEST = 2 ** 31 - 1; // of a timer
/** The tasks of one agent. */
export class Works {
    make;
    options;
    actions = [];
    #handlers = new Map();
    #works = new Map(); // by conversation
    constructor(make, options) {
        this.make = make;
        this.options = options;
    }
    register(name, action, handler) {
        if (this.#handlers.has(name))
            throw new Error(`the task ${name} has a function already`);
        this.#handlers.set(name, handler);
        this.actions.push(action);
    }
    /** The number of conversations that are remembered. */
    get size() {
        return this.#works.size;
    }
    /** Takes a TASK_REQUEST. A duplicate is answered with the last answer, and never starts a task again. */
    begin(m, line) {
        const known = this.#works.get(conversationOf(m));
        if (known) {
            known.line = line;
            if (known.answer)
                line.send(known.answer);
            return;
        }
        const work = this.#remember(m, line);
        try {
            this.#consider(work, m);
        }
        catch (why) {
            if (!(why instanceof RibosomeError))
                throw why;
            this.#conclude(work, why instanceof Malformed ? "NOT_UNDERSTOOD" : "TASK_REJECT", rejection(why.code, why.text));
        }
    }
    #consider(work, m) {
        const task = {
            type: textIn(m.payload, "task_type"), description: textIn(m.payload, "task_description"), parameters: objectIn(m.payload, "task_parameters"),
            asker: senderOf(m), signal: work.stop.signal, message: m,
            progress: (percent, text = "", results = {}) => this.#report(work, percent, text, results),
        };
        const left = millisecondsLeft(m);
        const handler = this.#handlers.get(task.type);
        const busy = [...this.#works.values()].filter(({ running }) => running).length;
        if (!handler)
            throw new Rejected("incapable", `there is no task ${JSON.stringify(task.type)} here`);
        if (busy >= this.options.maxTasks)
            throw new Rejected("busy", `${busy} tasks are under way`);
        if (left !== undefined && left <= 0)
            throw new Rejected("deadline_expired", "the deadline has passed");
        this.#answer(work, "TASK_ACCEPT", { status: "accepted" });
        work.running = this.#perform(work, handler, task, left).finally(() => { work.running = undefined; });
    }
    async #perform(work, handler, task, left) {
        const late = left === undefined ? undefined : setTimeout(() => this.#late(work), Math.min(left, LONGEST));
        try {
            const { status, summary, details } = resultFrom(await handler(task));
            this.#conclude(work, "INFORM_RESULT", { task_status: status, result_summary: summary, result_details: details });
        }
        catch (why) {
            this.#fail(work, task, why);
        }
        finally {
            clearTimeout(late);
            clearTimeout(work.grace);
        }
    }
    #fail(work, task, why) {
        if (why instanceof Rejected)
            return this.#conclude(work, "TASK_REJECT", rejection(why.code, why.text));
        if (why instanceof RibosomeError)
            return this.#conclude(work, "FAILURE", failure(why.code, why.text));
        if (!work.final && !work.withdrawn)
            this.options.failed(why, task.type);
        this.#conclude(work, "FAILURE", failure("execution_failed", "the task failed")); // the asker gets no details of the fault
    }
    #late(work) {
        if (work.withdrawn)
            return;
        this.#conclude(work, "FAILURE", failure("timeout", "the deadline has passed"));
        work.stop.abort(new Error("the deadline has passed"));
    }
    /** Takes a CANCEL. The receipt is sent when the task's function has returned. */
    cancel(m, line) {
        const work = this.#works.get(conversationOf(m));
        if (!work)
            return this.#receipt(this.#remember(m, line)); // it overtakes its request, which then starts nothing
        work.line = line;
        if (work.final && work.answer)
            return line.send(work.answer);
        if (!work.running || work.withdrawn)
            return;
        work.withdrawn = true;
        work.grace = setTimeout(() => {
            if (!work.final)
                this.#last(work, "FAILURE", failure("still_running", "the task does not stop"));
        }, this.options.grace);
        work.stop.abort(new Error(typeof m.payload.reason === "string" ? m.payload.reason : "the task was withdrawn"));
    }
    /** Stops the tasks of a lost connection, whose askers have been told. */
    lose(line) {
        for (const work of this.#works.values()) {
            if (work.line !== line)
                continue;
            work.line = undefined;
            if (work.final)
                continue;
            this.#last(work, "FAILURE", failure("disconnected", "the connection was lost while the task ran"));
            work.stop.abort(new Error("the connection to the node was lost"));
        }
    }
    #report(work, percent, text, results) {
        if (work.final || work.withdrawn || !work.line || work.line.crowded)
            return;
        if (percent !== undefined && !Number.isFinite(percent))
            throw new TypeError("percent: want a number");
        if (!isObject(results))
            throw new TypeError("results: want an object");
        work.line.send(this.#message(work, "STATUS_UPDATE", {
            ...(percent !== undefined && { progress_percentage: Math.min(Math.max(percent, 0), 100) }),
            status_description: text,
            ...(Object.keys(results).length > 0 && { intermediate_results: results }),
        }));
    }
    /** Sends the final answer, once. After a CANCEL it is the receipt, whatever the task has returned. */
    #conclude(work, act, payload) {
        if (work.final)
            return;
        if (work.withdrawn)
            return this.#receipt(work);
        try {
            this.#last(work, act, payload);
        }
        catch (why) {
            this.options.failed(why, "its result can't be sent");
            this.#last(work, "FAILURE", failure("execution_failed", "the result can't be sent"));
        }
    }
    #receipt(work) {
        this.#last(work, "INFORM", { status: "done" });
    }
    #last(work, act, payload) {
        this.#answer(work, act, payload);
        work.final = true;
    }
    #answer(work, act, payload) {
        const answer = this.#message(work, act, payload);
        work.line?.send(answer);
        work.answer = answer;
    }
    #message({ request: m }, act, payload) {
        return this.make(act, senderOf(m), payload, {
            in_reply_to: m.reply_with || m.message_id, conversation_id: conversationOf(m), ...(m.protocol !== undefined && { protocol: m.protocol }),
        });
    }
    #remember(request, line) {
        const ended = [...this.#works].filter(([, work]) => work.final && !work.running).map(([conversation]) => conversation);
        for (const conversation of ended.slice(0, -REMEMBERED))
            this.#works.delete(conversation);
        const work = {
            request, line, stop: new AbortController(), running: undefined, answer: undefined, final: false, withdrawn: false, grace: undefined,
        };
        this.#works.set(conversationOf(request), work);
        return work;
    }
}
