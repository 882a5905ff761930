/** The tasks that the agent delegates to others. */
import { RibosomeError } from "./errors.js";
import { type JSONObject, type Message, type Result, type Update } from "./messages.js";
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
export declare class Delegation {
    #private;
    private readonly make;
    private readonly send;
    private readonly grace;
    private readonly options;
    /** The conversation id. */
    readonly id: string;
    /** The agent to which the task was delegated. */
    readonly agent: string;
    /** Becomes true when the worker accepts the task, and false when it ends without that and without a result. It does not reject. */
    readonly accepted: Promise<boolean>;
    /** @internal */
    constructor(request: Message, agent: string, make: Make, send: (m: Message) => void, grace: number, options: DelegateOptions);
    /** Whether it has ended. */
    get done(): boolean;
    /** Waits for the end. Rejects with Rejected, Failed, TimedOut, Withdrawn, Malformed or Disconnected. */
    result(): Promise<Result>;
    /**
     * Withdraws the task, and waits for the receipt, 5 s at most. Returns whether it came: the work has stopped. Returns false
     * if the task had ended before, whose result stands, and if the worker does not answer.
     */
    cancel(reason?: string): Promise<boolean>;
    /** @internal Takes a message of the conversation. Throws Malformed, which ends it. */
    take(m: Message): void;
    /** @internal Ends it because the connection is lost, or the request was not sealed. */
    lose(why: RibosomeError): void;
}
