/** The tasks that others have delegated to the agent. */
import { type JSONObject, type Message, type Returned } from "./messages.js";
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
/** The tasks of one agent. */
export declare class Works {
    #private;
    private readonly make;
    private readonly options;
    readonly actions: JSONObject[];
    constructor(make: Make, options: {
        maxTasks: number;
        grace: number;
        failed: (why: unknown, task: string) => void;
    });
    register(name: string, action: JSONObject, handler: Handler): void;
    /** The number of conversations that are remembered. */
    get size(): number;
    /** Takes a TASK_REQUEST. A duplicate is answered with the last answer, and never starts a task again. */
    begin(m: Message, line: Line): void;
    /** Takes a CANCEL. The receipt is sent when the task's function has returned. */
    cancel(m: Message, line: Line): void;
    /** Stops the tasks of a lost connection, whose askers have been told. */
    lose(line: Line): void;
}
