/**
 * Runs Factorizer in Node.js, until it is interrupted:
 *
 *     node agent.mjs ws://127.0.0.1:8443/mcp
 *
 * Node.js 20 needs --experimental-websocket. If the node requires a token, set the environment variable
 * RIBOSOME_TOKEN.
 */

import { factorizer } from "./factorizer.mjs";

const url = process.argv[2] ?? "ws://127.0.0.1:8443/mcp";
if (!globalThis.WebSocket) {
  console.error("Factorizer: this Node.js has no WebSocket: run version 22 or later, or node --experimental-websocket agent.mjs");
  process.exit(2);
}
const token = process.env.RIBOSOME_TOKEN;
const agent = factorizer({ id: process.env.AGENT_ID, token: token && (() => token) });

const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stopping.abort());

try {
  await agent.run(url, {
    signal: stopping.signal,
    joined: () => console.error(`${agent.id}: joined the node`),
    lost: (why) => console.error(`${agent.id}: disconnected: ${why}`),
  });
} catch (why) {
  console.error(`${agent.id}: the node does not want this agent: ${why.message}`);
  process.exitCode = 1;
}
