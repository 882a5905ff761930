/** Sealed payloads by the clock. clients/sealed_test.go of the repository has the two sealers of Go and TypeScript at each other. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Sealer } from "../dist/sealed.js";

/** Makes keys as `ribosome keys` does. */
async function makeKeys() {
  const [sign, agree] = await Promise.all([
    crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]), crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"]),
  ]);
  const jwks = await Promise.all([sign, agree].map(({ privateKey }) => crypto.subtle.exportKey("jwk", privateKey)));
  return JSON.stringify({ keys: jwks.map(({ kty, crv, x, y, d }, i) => ({ use: ["sig", "enc"][i], kty, crv, x, y, d })) });
}

const message = {
  message_id: "m", performative: "TASK_REQUEST", sender: { agent_id: "Ann" }, receiver: { agent_id: "Bob" }, timestamp: "2026-01-01T00:00:00Z", payload: { task_type: "t" },
};

test("a sealed payload expires, and is not taken by an agent that began later", async () => {
  const [annKeys, bobKeys] = await Promise.all([makeKeys(), makeKeys()]);
  const firstUse = true;
  mock.timers.enable({ apis: ["Date"], now: Date.now() });
  try {
    const ann = await Sealer.of("Ann", { keys: annKeys, firstUse });
    const bob = await Sealer.of("Bob", { keys: bobKeys, firstUse });
    const sealed = await ann.seal(message, async () => bob.statement);
    mock.timers.tick(120_000);
    const later = await Sealer.of("Bob", { keys: bobKeys, firstUse });
    await assert.rejects(later.open(sealed), { code: "seal_expired" });
    mock.timers.tick(239_000);
    assert.deepEqual((await bob.open(sealed)).payload, { task_type: "t" });
    await assert.rejects(bob.open(sealed), { code: "replayed" });
    mock.timers.tick(2_000);
    await assert.rejects(bob.open(sealed), { code: "seal_expired" });
  } finally {
    mock.timers.reset();
  }
});

test("keys of an agent that are seen later are believed only if the earlier ones have signed them", async () => {
  const [annKeys, bobKeys, eveKeys] = await Promise.all([makeKeys(), makeKeys(), makeKeys()]);
  const bob = await Sealer.of("Bob", { keys: bobKeys, firstUse: true });
  const [ann, eve] = await Promise.all([annKeys, eveKeys].map((keys) => Sealer.of("Ann", { keys, firstUse: true })));
  const lookup = async () => bob.statement;
  await bob.open(await ann.seal(message, lookup));
  await assert.rejects(bob.open(await eve.seal({ ...message, message_id: "n" }, lookup)), { code: "unknown_key" });
  await bob.open(await ann.seal({ ...message, message_id: "o" }, lookup));
});

test("metadata and the budget are sealed, and those that a node on the way adds are dropped", async () => {
  const [annKeys, bobKeys] = await Promise.all([makeKeys(), makeKeys()]);
  const [ann, bob] = await Promise.all([Sealer.of("Ann", { keys: annKeys, firstUse: true }), Sealer.of("Bob", { keys: bobKeys, firstUse: true })]);
  const budget = { tokens: 7 };
  const sealed = await ann.seal({ ...message, budget, own: 1 }, async () => bob.statement);
  assert.equal(sealed.own, undefined);
  assert.equal(sealed.budget, undefined);
  const opened = await bob.open({ ...sealed, own: 2, more: 3, budget: { tokens: 1_000_000 }, trace: "00-a-b-01" });
  assert.deepEqual(opened, { ...message, budget, own: 1, trace: "00-a-b-01" });
});

test("keys and trust are checked", async () => {
  await assert.rejects(Sealer.of("Ann", { keys: '{"keys":[]}', firstUse: true }), TypeError);
  await assert.rejects(Sealer.of("Ann", { keys: await makeKeys() }), TypeError);
});
