/** acl over the package ws: ws.mjs ws://HOST:PORT/mcp */

import assert from "node:assert/strict";
import { once } from "node:events";
import { WebSocket } from "ws";

const socket = new WebSocket(process.argv[2]);
const waiting = new Map(); // by the id of the request, or of its conversation
socket.on("message", (text) => {
  const m = JSON.parse(text);
  const take = waiting.get(m.in_reply_to) ?? waiting.get(m.conversation_id);
  assert.ok(take, `nobody waits for ${text}`);
  take(m);
});
await once(socket, "open");

/** Sends a message, and returns its answer. progress is called for each message before that. */
function ask(performative, receiver, payload, { progress = () => {}, ...more } = {}) {
  const message_id = crypto.randomUUID();
  const answer = new Promise((resolve) => waiting.set(message_id, (m) => (["TASK_ACCEPT", "STATUS_UPDATE"].includes(m.performative) ? progress(m, message_id) : resolve(m))));
  socket.send(JSON.stringify({
    mcp_version: "0.1.0", message_id, performative, sender: { agent_id: "ws" }, receiver: { agent_id: receiver }, timestamp: new Date().toISOString(), ...more, payload,
  }));
  return answer;
}
const task = (task_type, task_parameters, more) => ask("TASK_REQUEST", "Worker", { task_type, task_parameters }, more);

const { payload: { capabilities } } = await ask("QUERY_CAPABILITIES", "Worker", { query_type: "summary" });
assert.deepEqual(capabilities.actions.map(({ name }) => name), ["echo", "fail", "wait", "meet"]);
assert.deepEqual((await task("echo", { text: "é" })).payload.result_details, { text: "é" });
assert.deepEqual([(await task("fail", {})).payload.error_code, (await task("nothing", {})).payload.reason_code], ["execution_failed", "incapable"]);
const cancelled = await new Promise((resolve) => task("wait", {}, { progress: ({ performative }, id) => {
  if (performative === "STATUS_UPDATE") ask("CANCEL", "Worker", { reason: "enough" }, { conversation_id: id, in_reply_to: id }).then(resolve);
} }));
assert.deepEqual([cancelled.performative, cancelled.payload.status], ["INFORM", "done"]);
for (const { performative } of await Promise.all([task("meet", {}), task("meet", {})])) assert.equal(performative, "INFORM_RESULT");
socket.close();
