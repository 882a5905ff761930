/**
 * Runs Factorizer in Node.js, until it is interrupted:
 *
 *     npm install --prefix examples/external/js
 *     node examples/external/js/agent.mjs ws://127.0.0.1:8443/mcp
 *
 * If the node requires a token, set the environment variable RIBOSOME_TOKEN.
 */

import { Agent, Refused } from "ribosome-client";

import { factorizer } from "./factorizer.mjs";

const token = process.env.RIBOSOME_TOKEN;
const agent = factorizer(new Agent(process.env.AGENT_ID ?? "Factorizer", { topics: ["mathematics"], ...(token && { token }) }));

try {
  await agent.serve(process.argv[2] ?? "ws://127.0.0.1:8443/mcp");
} catch (why) {
  if (!(why instanceof Refused)) throw why;
  console.error(`${agent.id}: the node does not want this agent: ${why.message}`);
  process.exitCode = 1;
}
