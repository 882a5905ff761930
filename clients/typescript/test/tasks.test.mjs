/** Tasks that the node delegates to the agent. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Failed, Rejected } from "ribosome-client";
import { ann, joined } from "./fake-node.mjs";

const soon = (milliseconds) => new Date(Date.now() + milliseconds).toISOString();

/** Returns an agent, and what its tasks do. */
function worker(options) {
  const did = { started: 0, stopped: 0, release: undefined };
  const agent = ann({ topics: ["tests"], token: () => "open sesame", maxTasks: 2, ...options });
  agent.task("echo", { description: "Returns its parameters.", schema: { type: "object" } }, async (task) => {
    did.started++;
    task.progress(50, "half ♥", { so: "far" });
    return { summary: "done", details: task.parameters };
  });
  agent.task("wait", "", ({ signal }) => {
    did.started++;
    return new Promise((resolve, reject) => signal.addEventListener("abort", () => {
      did.stopped++;
      reject(signal.reason);
    }));
  });
  agent.task("stubborn", "", ({ progress }) => new Promise((resolve) => {
    did.release = () => {
      progress(99, "nobody hears this");
      resolve("too late");
    };
  }));
  agent.task("raise", "", ({ parameters: { how } }) => {
    throw { rejected: new Rejected("incapable", "not this"), failed: new Failed("no_match", "nothing there"), bug: new Error("secret"), odd: undefined }[how];
  });
  const cyclic = {};
  cyclic.self = cyclic;
  const values = {
    text: "a summary", object: { details: { n: 1 } }, none: undefined, number: 7, list: [1], stray: { n: 1 }, status: { status: "fine" },
    bigint: { details: { n: 1n } }, cyclic: { details: cyclic }, long: "x".repeat(17 << 20), wide: "ß".repeat(9 << 20),
  };
  agent.task("return", "", ({ parameters: { what } }) => values[what]);
  return { agent, did };
}

async function outcome(node, kind, parameters, more = {}) {
  const task = node.task(kind, parameters, more);
  await node.receive("TASK_ACCEPT");
  const m = await node.receive();
  assert.deepEqual([m.in_reply_to, m.conversation_id, m.receiver], ["r", more.conversation_id ?? task, { agent_id: "Host" }]);
  return m;
}

test("the introduction", () => {
  const { agent } = worker();
  return joined(agent, async (node) => {
    assert.equal(node.request.headers.authorization, "Bearer open sesame");
    assert.deepEqual([node.hello.auth_token, node.hello.sender], ["open sesame", { agent_id: "Ann" }]);
    const { topics, actions } = node.hello.payload.capabilities;
    assert.deepEqual(topics, ["tests"]);
    assert.deepEqual(actions[0], { name: "echo", description: "Returns its parameters.", input_schema: { type: "object" } });
  });
});

test("a task", () => {
  const { agent, did } = worker();
  return joined(agent, async (node) => {
    const task = node.task("echo", { é: "日本 🧬" }, { conversation_id: "c1", protocol: "task-delegation" });
    const [accept, update, result] = [await node.receive("TASK_ACCEPT"), await node.receive("STATUS_UPDATE"), await node.receive("INFORM_RESULT")];
    for (const m of [accept, update, result]) assert.deepEqual([m.conversation_id, m.in_reply_to, m.protocol], ["c1", "r", "task-delegation"]);
    assert.deepEqual(update.payload, { progress_percentage: 50, status_description: "half ♥", intermediate_results: { so: "far" } });
    assert.deepEqual(result.payload, { task_status: "success", result_summary: "done", result_details: { é: "日本 🧬" } });
    node.task("echo", {}, { message_id: task, conversation_id: "c1" }); // the same again
    assert.equal((await node.receive("INFORM_RESULT")).message_id, result.message_id);
    assert.equal(did.started, 1);
  });
});

test("what a function returns", () => {
  const { agent } = worker();
  return joined(agent, async (node) => {
    const unsent = { error_text: "the result can't be sent" };
    const wrong = { error_text: "the task failed" };
    for (const [what, act, part] of [
      ["text", "INFORM_RESULT", { result_summary: "a summary" }], ["object", "INFORM_RESULT", { result_details: { n: 1 } }],
      ["none", "INFORM_RESULT", { result_summary: "" }], ["number", "FAILURE", wrong], ["list", "FAILURE", wrong], ["stray", "FAILURE", wrong],
      ["status", "FAILURE", wrong], ["bigint", "FAILURE", unsent], ["cyclic", "FAILURE", unsent], ["long", "FAILURE", unsent], ["wide", "FAILURE", unsent],
    ]) {
      const m = await outcome(node, "return", { what });
      assert.deepEqual([m.performative, { ...m.payload, ...part }], [act, m.payload], what);
    }
  });
});

test("what a function throws", () => {
  const { agent } = worker();
  return joined(agent, async (node) => {
    for (const [how, act, code, text] of [
      ["rejected", "TASK_REJECT", "incapable", "not this"], ["failed", "FAILURE", "no_match", "nothing there"],
      ["bug", "FAILURE", "execution_failed", "the task failed"], ["odd", "FAILURE", "execution_failed", "the task failed"],
    ]) {
      const { performative, payload: p } = await outcome(node, "raise", { how });
      assert.deepEqual([performative, p.reason_code ?? p.error_code, p.reason_text ?? p.error_text], [act, code, text]);
    }
  });
});

test("rejected tasks", () => {
  const { agent, did } = worker();
  return joined(agent, async (node) => {
    const invalid = "invalid_payload_structure";
    for (const [more, act, code, text] of [
      [{ payload: { task_type: "coffee" } }, "TASK_REJECT", "incapable", 'there is no task "coffee" here'],
      [{ reply_by: soon(-1) }, "TASK_REJECT", "deadline_expired", "the deadline has passed"],
      [{ reply_by: "tomorrow" }, "NOT_UNDERSTOOD", invalid, "reply_by: want a time such as"],
      [{ payload: { task_type: 7 } }, "NOT_UNDERSTOOD", invalid, "payload.task_type: want a string"],
      [{ payload: { task_type: "echo", task_parameters: [] } }, "NOT_UNDERSTOOD", invalid, "payload.task_parameters: want an object"],
      [{ payload: [] }, "NOT_UNDERSTOOD", invalid, "payload: want an object"],
      [{ conversation_id: {} }, "NOT_UNDERSTOOD", invalid, "conversation_id: want a string"],
    ]) {
      node.task("echo", {}, more);
      const { payload } = await node.receive(act);
      assert.equal(payload.reason_code, code);
      assert.ok(payload.reason_text.includes(text), payload.reason_text);
    }
    assert.equal(did.started, 0);
  });
});

test("too many tasks", () => {
  const { agent } = worker();
  return joined(agent, async (node) => {
    for (let i = 0; i < 2; i++) {
      node.task("wait");
      await node.receive("TASK_ACCEPT");
    }
    node.task("wait");
    assert.equal((await node.receive("TASK_REJECT")).payload.reason_code, "busy");
  });
});

test("cancel", () => {
  const { agent, did } = worker();
  return joined(agent, async (node) => {
    const task = node.task("wait");
    await node.receive("TASK_ACCEPT");
    for (const from of ["the receipt", "again"]) {
      node.send("CANCEL", {}, { conversation_id: task });
      assert.deepEqual((await node.receive("INFORM")).payload, { status: "done" }, from);
      assert.equal(did.stopped, 1);
    }
    await outcome(node, "return", { what: "none" }, { conversation_id: "c2" });
    node.send("CANCEL", {}, { conversation_id: "c2" });
    await node.receive("INFORM_RESULT"); // the result stands
    node.send("CANCEL", {}, { conversation_id: "c3" }); // it overtakes its request
    const receipt = await node.receive("INFORM");
    node.task("echo", {}, { conversation_id: "c3" });
    assert.equal((await node.receive("INFORM")).message_id, receipt.message_id);
    assert.equal(did.started, 1);
    await node.quiet();
  });
});

test("cancel of a task that goes on", () => {
  const { agent, did } = worker();
  return joined(agent, async (node) => {
    const task = node.task("stubborn");
    await node.receive("TASK_ACCEPT");
    node.send("CANCEL", {}, { conversation_id: task });
    assert.equal((await node.receive("FAILURE")).payload.error_code, "still_running");
    did.release();
    await node.quiet(); // one answer, though the function returns later
  });
});

test("a cancelled task that returns nevertheless gets the receipt", () => {
  const { agent, did } = worker({ grace: 20_000 });
  return joined(agent, async (node) => {
    const task = node.task("stubborn");
    await node.receive("TASK_ACCEPT");
    node.send("CANCEL", {}, { conversation_id: task });
    await node.quiet(); // no receipt while it runs
    did.release();
    await node.receive("INFORM");
  });
});

test("the deadline", () => {
  const { agent, did } = worker();
  return joined(agent, async (node) => {
    const { performative, payload } = await outcome(node, "wait", {}, { reply_by: soon(1000) }); // it has to be accepted before
    assert.deepEqual([performative, payload.error_code], ["FAILURE", "timeout"]);
    await node.quiet();
    assert.equal(did.stopped, 1);
  });
});

test("the same task twice", () => {
  const { agent } = worker();
  assert.throws(() => agent.task("echo", "", () => {}), /has a function already/);
});
