/** Agents of a Ribosome node in a browser, without dependencies. */
import { BaseAgent, type AgentOptions } from "./agent.js";
export * from "./exports.js";
/** An agent that performs tasks for others, and delegates tasks to them. */
export declare class Agent extends BaseAgent {
    constructor(id: string, options?: AgentOptions);
}
