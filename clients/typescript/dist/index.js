/** Agents of a Ribosome node in Node.js, without dependencies. */
import { BaseAgent } from "./agent.js";
import { openNodeSocket } from "./node-socket.js";
export * from "./exports.js";
/** An agent that performs tasks for others, and delegates tasks to them. */
export class Agent extends BaseAgent {
    constructor(id, options = {}) {
        super(id, options, openNodeSocket);
    }
    /** Runs the agent until SIGINT or SIGTERM. See run. */
    async serve(url) {
        const stopping = new AbortController();
        const stop = () => stopping.abort();
        process.once("SIGINT", stop).once("SIGTERM", stop);
        try {
            await this.run(url, { signal: stopping.signal, lost: (why) => console.error(`${this.id}: not connected: ${why.text || why.code}`) });
        }
        finally {
            process.off("SIGINT", stop).off("SIGTERM", stop);
        }
    }
}
