/** Agents of a Ribosome node in Node.js, without dependencies. */
import { BaseAgent, type AgentOptions } from "./agent.js";
export * from "./exports.js";
/** An agent that performs tasks for others, and delegates tasks to them. */
export declare class Agent extends BaseAgent {
    constructor(id: string, options?: AgentOptions);
    /** Runs the agent until SIGINT or SIGTERM. See run. */
    serve(url: string): Promise<void>;
}
