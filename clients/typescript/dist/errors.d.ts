/** The base of all errors of this package. code is one of the node's codes in lower case, such as "busy"; text is for people. */
export declare class RibosomeError extends Error {
    readonly code: string;
    readonly text: string;
    constructor(code: string, text?: string);
}
/** A task that was not performed: the answer was TASK_REJECT, NOT_UNDERSTOOD or REFUSE. A task's function throws it to reject the task. */
export declare class Rejected extends RibosomeError {
}
/** A task that was begun and could not be done. A task's function throws it to choose the code and the text that the asker gets. */
export declare class Failed extends RibosomeError {
}
/** A delegation that was withdrawn. confirmed says whether the worker has sent the receipt: its work has stopped. */
export declare class Withdrawn extends RibosomeError {
    readonly confirmed: boolean;
    constructor(confirmed: boolean, text?: string);
}
/** A delegation without an answer before its deadline. */
export declare class TimedOut extends RibosomeError {
    constructor(text: string);
}
/** There is no connection to the node, or it was lost before the answer. Whether the work was done is not known. */
export declare class Disconnected extends RibosomeError {
    constructor(text: string);
}
/** The node does not want the agent. The agent does not connect again after the codes "unauthorized" and "forbidden". */
export declare class Refused extends RibosomeError {
}
/** The peer's message is not what the protocol says. The text names the member. */
export declare class Malformed extends RibosomeError {
    constructor(text: string);
}
