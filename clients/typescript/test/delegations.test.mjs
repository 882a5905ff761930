/** Tasks that the agent delegates. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Disconnected, Failed, Malformed, Rejected, TimedOut, Withdrawn } from "ribosome-client";
import { ann, joined } from "./fake-node.mjs";

const SUCCESS = { task_status: "success", result_summary: "fine ✓", result_details: { n: 1 } };

/** Runs use with a way to delegate a task to Bob, which returns the delegation and the request. */
function delegating(use, agent = ann()) {
  return joined(agent, (node) => use(node, async (options) => {
    const d = agent.start("Bob", "paint", { wall: "été" }, { description: "please", ...options });
    return [d, await node.receive("TASK_REQUEST")];
  }, agent));
}

test("a result", () => delegating(async (node, begin) => {
  const reports = [];
  const [d, request] = await begin({ progress: (u) => reports.push(u), more: { ontology: "ex:paint" } });
  assert.deepEqual([request.receiver, request.ontology, d.id], [{ agent_id: "Bob" }, "ex:paint", request.message_id]);
  assert.deepEqual(request.payload, { task_type: "paint", task_description: "please", task_parameters: { wall: "été" } });
  node.reply(request, "TASK_ACCEPT", { status: "accepted" });
  assert.equal(await d.accepted, true);
  node.reply(request, "STATUS_UPDATE", { progress_percentage: 12.5, status_description: "on it", intermediate_results: { a: 1 } });
  node.reply(request, "STATUS_UPDATE", {});
  node.reply(request, "INFORM_RESULT", SUCCESS);
  node.reply(request, "INFORM_RESULT", { task_status: "failure" }); // a second answer changes nothing
  await node.quiet();
  assert.deepEqual(await d.result(), { summary: "fine ✓", details: { n: 1 }, status: "success" });
  assert.deepEqual(reports, [{ percent: 12.5, text: "on it", results: { a: 1 } }, { text: "", results: {} }]);
}));

test("refusals", () => delegating(async (node, begin) => {
  for (const [act, payload, kind, code, text] of [
    ["TASK_REJECT", { reason_code: "busy", reason_text: "later" }, Rejected, "busy", "later"],
    ["NOT_UNDERSTOOD", { reason_code: "unknown_ontology" }, Rejected, "unknown_ontology", ""],
    ["REFUSE", {}, Rejected, "unspecified", ""],
    ["FAILURE", { error_code: "timeout", error_text: "slow" }, Failed, "timeout", "slow"],
    ["FAILURE", { error_code: 7, reason_code: "busy" }, Failed, "busy", ""],
    ["FAILURE", { error_code: "disconnected", error_text: "gone" }, Disconnected, "disconnected", "gone"],
  ]) {
    const [d, request] = await begin();
    node.reply(request, act, payload);
    const why = await d.result().catch((error) => error);
    assert.deepEqual([why.constructor, why.name, why.code, why.text], [kind, kind.name, code, text]);
    assert.equal(await d.accepted, false);
  }
}));

test("malformed answers", () => delegating(async (node, begin) => {
  for (const [act, payload, field] of [
    ["INFORM_RESULT", {}, "payload.task_status"], ["INFORM_RESULT", { task_status: "perfect" }, "payload.task_status"],
    ["INFORM_RESULT", { task_status: "success", result_details: [1] }, "payload.result_details"],
    ["INFORM_RESULT", { task_status: "success", result_summary: 7 }, "payload.result_summary"],
    ["STATUS_UPDATE", { progress_percentage: "half" }, "payload.progress_percentage"], ["INFORM", {}, "INFORM from Bob"],
  ]) {
    const [d, request] = await begin();
    const answer = node.reply(request, act, payload);
    await assert.rejects(d.result(), (why) => why instanceof Malformed && why.text.includes(field), JSON.stringify(payload));
    if (act === "INFORM") continue;
    const complaint = await node.receive("NOT_UNDERSTOOD");
    assert.deepEqual([complaint.in_reply_to, complaint.conversation_id], [answer, d.id]);
    assert.ok(complaint.payload.reason_text.includes(field));
  }
}));

test("cancel", () => delegating(async (node, begin) => {
  const [d, request] = await begin();
  const ending = d.cancel("changed my mind");
  const m = await node.receive("CANCEL");
  assert.deepEqual([m.conversation_id, m.in_reply_to, m.payload], [d.id, d.id, { reason: "changed my mind" }]);
  node.reply(request, "STATUS_UPDATE", {});
  node.reply(request, "INFORM", { status: "done" });
  assert.equal(await ending, true);
  await assert.rejects(d.result(), (why) => why instanceof Withdrawn && why.confirmed);
  assert.equal(await d.cancel(), true); // it is withdrawn already
  await node.quiet();
}, ann({ grace: 20_000 })));

test("cancel crosses with the result", () => delegating(async (node, begin) => {
  const [d, request] = await begin();
  const ending = d.cancel();
  await node.receive("CANCEL");
  node.reply(request, "INFORM_RESULT", SUCCESS);
  assert.equal(await ending, false);
  assert.equal((await d.result()).summary, "fine ✓");
}, ann({ grace: 20_000 })));

test("cancel without an answer", () => delegating(async (node, begin) => {
  const [d] = await begin();
  assert.equal(await d.cancel(), false);
  await assert.rejects(d.result(), (why) => why instanceof Withdrawn && !why.confirmed);
}));

test("a signal withdraws", () => delegating(async (node, begin, agent) => {
  const stop = new AbortController();
  const [d, request] = await begin({ signal: stop.signal });
  stop.abort();
  await node.receive("CANCEL");
  assert.equal(d.done, false); // it waits for the receipt
  node.reply(request, "INFORM", { status: "done" });
  await assert.rejects(d.result(), Withdrawn);
  await assert.rejects(agent.delegate("Bob", "paint", {}, { signal: stop.signal }), { name: "AbortError" });
}, ann({ grace: 20_000 })));

test("the deadline", () => delegating(async (node, begin) => {
  const [d] = await begin({ timeout: 30 });
  await assert.rejects(d.result(), TimedOut);
  await node.receive("CANCEL");
}));

test("a worker that asks for more input is told that there is none", () => delegating(async (node, begin) => {
  const [d, request] = await begin();
  node.reply(request, "INFORM_RESULT", { task_status: "partial_success", result_details: { request_for_user: "which?" } });
  assert.equal((await d.result()).status, "partial_success");
  await node.receive("CANCEL");
}));

test("what is not sent", async () => {
  await assert.rejects(ann().delegate("Bob", "paint"), Disconnected);
  await delegating(async (node, begin, agent) => {
    await assert.rejects(agent.delegate("Bob", "paint", { a: 1n }), TypeError);
    await assert.rejects(agent.delegate("Bob", "paint", { a: "x".repeat(17 << 20) }), RangeError);
    await node.quiet();
  });
});
