/** The messages of agents: acl, as JSON objects. */
import { Disconnected, Failed, Malformed, Rejected, RibosomeError } from "./errors.js";
const STATUSES = ["failure", "partial_success", "success"];
/** The acts that end a delegation for its initiator, besides INFORM_RESULT and INFORM. */
export const REFUSALS = ["TASK_REJECT", "FAILURE", "NOT_UNDERSTOOD", "REFUSE"];
/** Returns the result that a task's function means. Throws a TypeError. */
export function resultFrom(value) {
    const given = value ?? {};
    if (typeof given === "string")
        return { summary: given, details: {}, status: "success" };
    if (!isObject(given))
        throw new TypeError(`a task returns a result, a string or nothing, not ${typeof given}`);
    const unknown = Object.keys(given).filter((name) => !["summary", "details", "status"].includes(name));
    if (unknown.length > 0)
        throw new TypeError(`a result has summary, details and status, not ${unknown.join(", ")}`);
    const { summary = "", details = {}, status = "success" } = given;
    if (typeof summary !== "string")
        throw new TypeError("summary: want a string");
    if (!isObject(details))
        throw new TypeError("details: want an object");
    if (!isStatus(status))
        throw new TypeError(`status: want one of ${STATUSES.join(", ")}`);
    return { summary, details, status };
}
/** Makes a message. Members of more that are undefined are omitted. */
export function message(act, sender, receiver, payload, more = {}) {
    return {
        mcp_version: "0.1.0",
        message_id: crypto.randomUUID(),
        performative: act,
        sender: { agent_id: sender },
        receiver: { agent_id: receiver },
        ...more,
        language: "application/json",
        timestamp: new Date().toISOString(),
        payload,
    };
}
/** Reads a JSON object. Throws Malformed. */
export function decode(text) {
    let m;
    try {
        m = JSON.parse(text);
    }
    catch (why) {
        throw new Malformed(`the node sent no JSON: ${why instanceof Error ? why.message : why}`);
    }
    if (!isObject(m))
        throw new Malformed("the node sent JSON that is no object");
    return m;
}
/** Returns the message if the members of its envelope have the right types. Throws Malformed. */
export function checked(m) {
    for (const name of ["performative", "message_id"]) {
        if (typeof m[name] !== "string" || !m[name])
            throw new Malformed(`${name}: want a non-empty string`);
    }
    for (const name of ["conversation_id", "in_reply_to", "reply_with", "reply_by"]) {
        if (m[name] != null && typeof m[name] !== "string")
            throw new Malformed(`${name}: want a string`);
    }
    const payload = m.payload ?? {};
    if (!isObject(payload))
        throw new Malformed("payload: want an object");
    return { ...m, payload };
}
/** Returns the agent id of the sender, which is an object or a string; "" if there is none. */
export function senderOf(m) {
    const sender = isObject(m.sender) ? m.sender.agent_id : m.sender;
    return typeof sender === "string" ? sender : "";
}
/** Returns the conversation id. A message without one opens a conversation with its own id. */
export function conversationOf(m) {
    return m.conversation_id || m.message_id;
}
/** Returns a member of the payload that is a string, or missing. Throws Malformed. */
export function textIn(payload, name) {
    const value = payload[name] ?? "";
    if (typeof value !== "string")
        throw new Malformed(`payload.${name}: want a string`);
    return value;
}
/** Returns a member of the payload that is an object, or missing. Throws Malformed. */
export function objectIn(payload, name) {
    const value = payload[name] ?? {};
    if (!isObject(value))
        throw new Malformed(`payload.${name}: want an object`);
    return value;
}
/** Returns the report in a STATUS_UPDATE. Throws Malformed. */
export function updateOf({ payload }) {
    const percent = payload.progress_percentage ?? undefined;
    if (percent !== undefined && typeof percent !== "number")
        throw new Malformed("payload.progress_percentage: want a number");
    const update = { text: textIn(payload, "status_description"), results: objectIn(payload, "intermediate_results") };
    return percent === undefined ? update : { percent, ...update };
}
/** Returns the result in an INFORM_RESULT. Throws Malformed. */
export function resultOf({ payload }) {
    const status = textIn(payload, "task_status").toLowerCase();
    if (!isStatus(status))
        throw new Malformed(`payload.task_status: want one of ${STATUSES.join(", ")}, got ${JSON.stringify(payload.task_status)}`);
    return { summary: textIn(payload, "result_summary"), details: objectIn(payload, "result_details"), status };
}
/** Returns the error for a message that rejects a request or reports its failure. */
export function refusalOf({ payload, performative }) {
    const first = (...names) => names.map((name) => payload[name]).find((value) => typeof value === "string");
    const code = first("error_code", "reason_code") || "unspecified";
    const text = first("error_text", "reason_text") ?? "";
    if (code === "disconnected")
        return new Disconnected(text);
    return performative === "FAILURE" ? new Failed(code, text) : new Rejected(code, text);
}
/** Returns the payload of FAILURE. */
export function failure(code, text) {
    return { status: "failure", error_code: code, error_text: text };
}
/** Returns the payload of TASK_REJECT and NOT_UNDERSTOOD. */
export function rejection(code, text) {
    return { status: "rejected", reason_code: code, reason_text: text };
}
/** Returns the milliseconds until reply_by, or undefined if there is no deadline. Throws Malformed. */
export function millisecondsLeft(m) {
    if (!m.reply_by)
        return undefined;
    const by = /^\d{4}-\d\d-\d\dT.*([zZ]|[+-]\d\d:\d\d)$/.test(m.reply_by) ? Date.parse(m.reply_by) : NaN;
    if (Number.isNaN(by))
        throw new Malformed("reply_by: want a time such as 2026-11-21T15:00:11Z");
    return by - Date.now();
}
/** Reports whether a value is a JSON object. */
export function isObject(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
function isStatus(value) {
    return typeof value === "string" && STATUSES.includes(value);
}
