/** The messages of agents: acl, as JSON objects. */
import { RibosomeError } from "./errors.js";
/** A JSON object. */
export type JSONObject = {
    [name: string]: unknown;
};
/** A message whose envelope was checked. */
export interface Message extends JSONObject {
    message_id: string;
    performative: string;
    conversation_id?: string;
    in_reply_to?: string;
    reply_with?: string;
    reply_by?: string;
    payload: JSONObject;
}
/** What became of a task. "failure" means that the work was done, and its answer is no. */
export type Status = "success" | "partial_success" | "failure";
/** The result of a task: a summary for people, and details for programs. */
export interface Result {
    summary: string;
    details: JSONObject;
    status: Status;
}
/** A report of progress. percent is from 0 to 100, and missing if the worker doesn't know it. */
export interface Update {
    percent?: number;
    text: string;
    results: JSONObject;
}
/** What a task's function may return: a text is a summary. Missing members of a result have their defaults: "", {} and "success". */
export type Returned = Partial<Result> | string | void;
/** The acts that end a delegation for its initiator, besides INFORM_RESULT and INFORM. */
export declare const REFUSALS: readonly string[];
/** Returns the result that a task's function means. Throws a TypeError. */
export declare function resultFrom(value: Returned): Result;
/** Makes a message. Members of more that are undefined are omitted. */
export declare function message(act: string, sender: string, receiver: string, payload: JSONObject, more?: JSONObject): Message;
/** Reads a JSON object. Throws Malformed. */
export declare function decode(text: string): JSONObject;
/** Returns the message if the members of its envelope have the right types. Throws Malformed. */
export declare function checked(m: JSONObject): Message;
/** Returns the agent id of the sender, which is an object or a string; "" if there is none. */
export declare function senderOf(m: JSONObject): string;
/** Returns the conversation id. A message without one opens a conversation with its own id. */
export declare function conversationOf(m: Message): string;
/** Returns a member of the payload that is a string, or missing. Throws Malformed. */
export declare function textIn(payload: JSONObject, name: string): string;
/** Returns a member of the payload that is an object, or missing. Throws Malformed. */
export declare function objectIn(payload: JSONObject, name: string): JSONObject;
/** Returns the report in a STATUS_UPDATE. Throws Malformed. */
export declare function updateOf({ payload }: Message): Update;
/** Returns the result in an INFORM_RESULT. Throws Malformed. */
export declare function resultOf({ payload }: Message): Result;
/** Returns the error for a message that rejects a request or reports its failure. */
export declare function refusalOf({ payload, performative }: Message): RibosomeError;
/** Returns the payload of FAILURE. */
export declare function failure(code: string, text: string): JSONObject;
/** Returns the payload of TASK_REJECT and NOT_UNDERSTOOD. */
export declare function rejection(code: string, text: string): JSONObject;
/** Returns the milliseconds until reply_by, or undefined if there is no deadline. Throws Malformed. */
export declare function millisecondsLeft(m: Message): number | undefined;
/** Reports whether a value is a JSON object. */
export declare function isObject(value: unknown): value is JSONObject;
