export { type AgentOptions, type RunOptions, type TaskDescription } from "./agent.js";
export { Delegation, type DelegateOptions } from "./delegations.js";
export { Disconnected, Failed, Malformed, Refused, Rejected, RibosomeError, TimedOut, Withdrawn } from "./errors.js";
export { type JSONObject, type Message, type Result, type Returned, type Status, type Update } from "./messages.js";
export { type SealOptions } from "./sealed.js";
export { type ConnectOptions, type PEM, type TLSOptions } from "./socket.js";
export { type Handler, type Task } from "./works.js";
