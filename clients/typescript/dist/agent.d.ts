import { Delegation, type DelegateOptions } from "./delegations.js";
import { RibosomeError } from "./errors.js";
import { type JSONObject, type Result } from "./messages.js";
import { type SealOptions } from "./sealed.js";
import { type ConnectOptions, type Open } from "./socket.js";
import { type Handler } from "./works.js";
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
export declare class BaseAgent {
    #private;
    readonly id: string;
    constructor(id: string, options: AgentOptions, open: Open);
    /** Registers the function of a task. Register tasks before the agent runs. */
    task(name: string, about: string | TaskDescription, handler: Handler): this;
    /**
     * Runs the agent until the signal aborts. url is such as ws://127.0.0.1:8443/mcp, or wss:// for TLS. A lost connection ends all
     * tasks and delegations of it, and the agent connects again. Throws Refused if the node does not want the agent.
     */
    run(url: string, { signal, joined, lost }?: RunOptions): Promise<void>;
    /**
     * Runs the agent while use runs, which is called when the node knows the agent. Throws Disconnected if there is no node within wait
     * milliseconds, 10 s by default.
     */
    joined<T>(url: string, use: (agent: this) => Promise<T>, { wait }?: {
        wait?: number;
    }): Promise<T>;
    /**
     * Delegates a task to another agent, and returns its result. The agent "system" is any agent that performs such tasks. Rejects as
     * Delegation.result does; with Disconnected at once if the agent has not joined.
     */
    delegate(agent: string, taskType: string, parameters?: JSONObject, options?: DelegateOptions): Promise<Result>;
    /** Delegates a task as delegate does, and does not wait for its end. Throws Disconnected if the agent has not joined. */
    start(agent: string, taskType: string, parameters?: JSONObject, options?: DelegateOptions): Delegation;
}
