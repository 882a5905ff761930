/** Agents of a Ribosome node in a browser, without dependencies. */
import { BaseAgent } from "./agent.js";
import { openBrowserSocket } from "./browser-socket.js";
export * from "./exports.js";
/** An agent that performs tasks for others, and delegates tasks to them. */
export class Agent extends BaseAgent {
    constructor(id, options = {}) {
        super(id, options, openBrowserSocket);
    }
}
