export {} from "./agent.js";
export { Delegation } from "./delegations.js";
export { Disconnected, Failed, Malformed, Refused, Rejected, RibosomeError, TimedOut, Withdrawn } from "./errors.js";
export {} from "./messages.js";
export {} from "./sealed.js";
export {} from "./socket.js";
export {} from "./works.js";
