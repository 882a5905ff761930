/** The client and the WebSocket transport of the TypeScript SDK of the Model Context Protocol: sdk.mjs ws://HOST:PORT/mcp */

import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";
import { WebSocket } from "ws";

globalThis.WebSocket ??= WebSocket; // Node.js 20 has none
const client = new Client({ name: "stock", version: "1" });
await client.connect(new WebSocketClientTransport(new URL(process.argv[2])));
assert.deepEqual((await client.listTools()).tools.map(({ name }) => name), ["echo", "fail", "wait", "meet"]);
assert.deepEqual((await client.listResources()).resources.map(({ uri }) => uri), ["doc:a"]);
assert.deepEqual((await client.readResource({ uri: "doc:a" })).contents, [{ uri: "doc:a", text: "A" }]);

const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
assert.deepEqual((await call("echo", { text: "é" })).structuredContent, { text: "é" });
await assert.rejects(call("fail", {}), { code: -32603 });
await assert.rejects(call("nothing", {}), { code: -32601 });
const stop = new AbortController();
await assert.rejects(call("wait", {}, { signal: stop.signal, onprogress: () => stop.abort("enough") }), /enough/);
await Promise.all([call("meet", {}), call("meet", {})]);
await client.close();
