/** The service of wire/grpc by grpc-js, with the proto file alone: grpc.mjs HOST:PORT PROTO */

import assert from "node:assert/strict";
import { once } from "node:events";
import { credentials, loadPackageDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const [address, proto] = process.argv.slice(2);
const { Wire } = loadPackageDefinition(loadSync(proto, { keepCase: true, enums: String, longs: String, defaults: true })).ribosome.v1;
const client = new Wire(address, credentials.createInsecure());
const stream = client.Connect();
const waiting = new Map(); // by the id of the request, or of its conversation
stream.on("data", ({ envelopes, ping }) => {
  if (ping) stream.write({ pong: ping });
  for (const m of envelopes) (waiting.get(m.in_reply_to) ?? waiting.get(m.conversation_id))({ ...m, payload: m.payload.length > 0 ? JSON.parse(m.payload) : {} });
});

/** Sends a message, and returns its answer. progress is called for each message before that. */
function ask(act, receiver, payload, { progress = () => {}, ...more } = {}) {
  const id = crypto.randomUUID();
  const early = ["PERFORMATIVE_TASK_ACCEPT", "PERFORMATIVE_STATUS_UPDATE"];
  const answer = new Promise((resolve) => waiting.set(id, (m) => (early.includes(m.performative) ? progress(m, id) : resolve(m))));
  const seconds = Math.floor(Date.now() / 1000);
  stream.write({ envelopes: [{ id, performative: `PERFORMATIVE_${act}`, sender: "grpc", receiver, timestamp: { seconds }, ...more, payload: Buffer.from(JSON.stringify(payload)) }] });
  return answer;
}
const task = (task_type, task_parameters, more) => ask("TASK_REQUEST", "Worker", { task_type, task_parameters }, more);

const { payload: { capabilities } } = await ask("QUERY_CAPABILITIES", "Worker", { query_type: "summary" });
assert.deepEqual(capabilities.actions.map(({ name }) => name), ["echo", "fail", "wait", "meet"]);
assert.deepEqual((await task("echo", { text: "é" })).payload.result_details, { text: "é" });
assert.equal((await task("fail", {})).payload.error_code, "execution_failed");
const cancelled = await new Promise((resolve) => task("wait", {}, { progress: ({ performative }, id) => {
  if (performative === "PERFORMATIVE_STATUS_UPDATE") ask("CANCEL", "Worker", { reason: "enough" }, { conversation_id: id, in_reply_to: id }).then(resolve);
} }));
assert.deepEqual([cancelled.performative, cancelled.payload.status], ["PERFORMATIVE_INFORM", "done"]);
for (const { performative } of await Promise.all([task("meet", {}), task("meet", {})])) assert.equal(performative, "PERFORMATIVE_INFORM_RESULT");
stream.write({ close: { reason: "done" } });
await once(stream, "end");
client.close();
