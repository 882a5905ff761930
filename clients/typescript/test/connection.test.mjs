/** The connection: its loss, its end by the node, and what is no message. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Disconnected, Refused } from "ribosome-client";
import { FakeNode, ann, close, frame, joined } from "./fake-node.mjs";

/** Returns an agent with a task that lasts until release, whatever happens. */
function worker() {
  const did = { begun: 0 };
  const agent = ann().task("wait", "", () => new Promise((resolve) => {
    did.begun++;
    did.release = () => resolve("too late");
  }));
  return { agent, did };
}

test("ping and close", () => joined(ann(), async (node) => {
  node.stream.write(frame(9, "12345678"));
  const { opcode, payload } = await node.frames.take();
  assert.deepEqual([opcode, payload.toString()], [10, "12345678"]);
  node.stream.write(frame(10, "x"));
  for (const one of [close(1001, "that is all"), frame(8)]) {
    node.stream.write(one);
    assert.equal((await node.frames.take()).opcode, 8);
    await node.accepted();
  }
}));

test("lost in mid-task", () => {
  const { agent, did } = worker();
  return joined(agent, async (node) => {
    const d = agent.start("Bob", "paint");
    await node.receive("TASK_REQUEST");
    const task = node.task("wait", {}, { conversation_id: "c1" });
    await node.receive("TASK_ACCEPT");
    node.stream.destroy();
    await assert.rejects(d.result(), Disconnected);
    await node.accepted();
    did.release();
    await node.quiet(); // nothing about the task of the lost connection
    node.task("wait", {}, { conversation_id: "c1", message_id: task }); // repeated: it is not begun again
    assert.equal((await node.receive("FAILURE")).payload.error_code, "disconnected");
    assert.equal(did.begun, 1);
  });
});

test("fragments, and frames in pieces", () => joined(ann(), async (node) => {
  const data = Buffer.from(JSON.stringify({ message_id: "ü", performative: "QUERY_IF", reply_with: "r", payload: {} }));
  const parts = Buffer.concat([frame(1, data.subarray(0, 17), { fin: false }), frame(9, "p"), frame(0, "", { fin: false }), frame(0, data.subarray(17))]);
  for (const byte of parts) node.stream.write(Buffer.from([byte]));
  assert.equal((await node.frames.take()).opcode, 10);
  assert.equal((await node.receive("NOT_UNDERSTOOD")).in_reply_to, "ü");
}));

test("garbage", async (t) => {
  const long = Buffer.from([0x81, 127, 0, 0, 0, 0, 0x7f, 0, 0, 0]);
  const half = Buffer.alloc(9 << 20, 32);
  for (const [name, data, code] of [
    ["no JSON", frame(1, "{"), 1000], ["no object", frame(1, "[]"), 1000], ["reserved bit", frame(1, "{}", { bits: 0x40 }), 1002],
    ["masked", frame(1, "{}", { masked: true }), 1002], ["unknown opcode", frame(3), 1002], ["binary", frame(2, "x"), 1003],
    ["no UTF-8", frame(1, Buffer.from([0x22, 0xc3, 0x28, 0x22])), 1007], ["too long", long, 1009],
    ["fragments too long", Buffer.concat([frame(1, half, { fin: false }), frame(0, half)]), 1009],
    ["stray fragment", frame(0, "x"), 1002], ["message in a message", Buffer.concat([frame(1, "x", { fin: false }), frame(1, "x")]), 1002],
    ["long ping", frame(9, "x".repeat(126)), 1002], ["half a ping", frame(9, "", { fin: false }), 1002], ["half a code", frame(8, "x"), 1002],
  ]) {
    await t.test(name, () => joined(ann(), async (node) => {
      node.stream.write(data);
      const { opcode, payload } = await node.frames.take();
      assert.deepEqual([opcode, payload?.readUInt16BE()], [8, code]);
      node.stream.destroy();
      await node.accepted();
    }));
  }
});

test("malformed messages", () => joined(ann(), async (node) => {
  for (const m of [{}, { performative: 7 }, { performative: "CANCEL" }, { message_id: "x", performative: "FAILURE", payload: 7 }]) {
    node.stream.write(frame(1, JSON.stringify(m)));
  }
  await node.quiet(); // nobody waits for an answer
  node.stream.write(frame(1, JSON.stringify({ message_id: "x" })));
  const answer = await node.receive("NOT_UNDERSTOOD");
  assert.deepEqual([answer.in_reply_to, answer.receiver], ["x", { agent_id: "system" }]);
  assert.ok(answer.payload.reason_text.includes("performative"));
}));

test("refused for good", async () => {
  for (const [reason, code, text] of [
    ["FORBIDDEN: another connection speaks for the agent", "forbidden", "another connection speaks for the agent"],
    ["UNAUTHORIZED: no token", "unauthorized", "no token"], ["", "forbidden", ""],
  ]) {
    await joined(ann(), async (node, running) => {
      node.stream.write(close(1008, reason));
      await assert.rejects(running, (why) => why instanceof Refused && why.code === code && why.text === text);
    });
  }
});

test("told to come back", () => joined(ann(), async (node) => {
  for (const [code, reason] of [[1008, "RATE_LIMIT_EXCEEDED: later"], [1013, "SERVICE_UNAVAILABLE: later"], [1011, "INTERNAL_ERROR: "]]) {
    node.stream.write(close(code, reason));
    await node.accepted();
  }
}));

test("refused upgrades", async () => {
  const node = new FakeNode();
  await node.start();
  const stop = new AbortController();
  const reasons = [];
  for (const [status, code] of [[401, "unauthorized"], [403, "forbidden"]]) {
    node.status = status;
    await assert.rejects(ann().run(node.url), (why) => why instanceof Refused && why.code === code);
  }
  node.status = 503;
  await ann().run(node.url, { signal: stop.signal, lost: (why) => {
    reasons.push(why.text);
    if (reasons.length === 1) Object.assign(node, { status: 101, accept: "wrong" });
    else stop.abort();
  } });
  assert.match(reasons[0], /the node answers 503/);
  assert.match(reasons[1], /what answers is no WebSocket/);
  node.stop();
});

test("a refused introduction", async () => {
  const node = new FakeNode();
  await node.start();
  const running = ann().task("now", "", () => "done").run(node.url);
  await node.accepted(false);
  node.reply(node.hello, "FAILURE", { error_code: "busy" });
  await node.accepted(false); // it comes back
  node.task("now"); // a task may come before the answer
  await node.receive("TASK_ACCEPT");
  node.reply(node.hello, "NOT_UNDERSTOOD", { reason_code: "forbidden", reason_text: "the name is reserved" });
  await assert.rejects(running, /forbidden: the name is reserved/);
  node.stop();
});

test("a task before the answer to the introduction", async () => {
  const node = new FakeNode();
  await node.start();
  const stop = new AbortController();
  const agent = ann();
  const running = agent.task("relay", "", () => agent.delegate("Bob", "paint")).run(node.url, { signal: stop.signal });
  await node.accepted(false);
  node.task("relay");
  await node.receive("TASK_ACCEPT");
  node.reply(await node.receive("TASK_REQUEST"), "INFORM_RESULT", { task_status: "success", result_summary: "painted" });
  assert.equal((await node.receive("INFORM_RESULT")).payload.result_summary, "painted");
  stop.abort();
  node.stop();
  await running;
});

test("large messages", () => {
  const agent = ann();
  return joined(agent, async (node) => {
    const text = "ß".repeat(5 << 20);
    const d = agent.start("Bob", "paint", { text });
    const request = await node.receive("TASK_REQUEST");
    node.reply(request, "INFORM_RESULT", { task_status: "success", result_details: { n: "y".repeat(12 << 20) } });
    assert.ok(request.payload.task_parameters.text === text);
    assert.equal((await d.result()).details.n.length, 12 << 20);
  });
});

test("joined", async () => {
  const node = new FakeNode();
  await node.start();
  const serving = (async () => {
    await node.accepted();
    node.reply(await node.receive("TASK_REQUEST"), "INFORM_RESULT", { task_status: "success" });
    assert.equal((await node.frames.take()).opcode, 8);
    node.stream.end(close(1000));
  })();
  const agent = ann();
  const status = await agent.joined(node.url, async (me) => {
    await assert.rejects(me.run(node.url), /runs already/);
    return (await me.delegate("Bob", "paint")).status;
  });
  assert.equal(status, "success");
  await serving;
  node.stop();
  await assert.rejects(agent.joined(node.url, () => assert.fail("nobody listens there"), { wait: 100 }), Disconnected);
  for (const wrong of ["127.0.0.1:8443", "tcp://a:1", "http://a:1/mcp"]) await assert.rejects(agent.run(wrong), TypeError);
});
