import { createHash, randomBytes } from "node:crypto";
import { request as requestHTTP, type IncomingMessage } from "node:http";
import { request as requestHTTPS, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";

import { Disconnected, Refused } from "./errors.js";
import { FrameError, FrameReader, OPCODE, closeFrame, frame } from "./frames.js";
import { CLOSE_TIME, CONNECT_TIME, DEAD_AFTER, PING_AFTER, type Open, type Socket, type SocketEvents } from "./socket.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; // RFC 6455 §1.3

/**
 * Opens a WebSocket in Node.js: 20 has no WebSocket without a flag, and that of later versions takes neither a
 * header for the token nor the certificates to trust.
 */
export const openNodeSocket: Open = (url, token, { tls = {} }, events) =>
  new Promise((resolve, reject) => {
    const { protocol, href } = new URL(url);
    const key = randomBytes(16).toString("base64");
    const begin = protocol === "wss:" ? requestHTTPS : requestHTTP;
    const upgrade = begin(href.replace(/^ws/, "http"), {
      ...(tls as RequestOptions),
      agent: false,
      headers: {
        Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key,
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
    });
    const timer = setTimeout(() => upgrade.destroy(new Error("it does not answer")), CONNECT_TIME);
    const failed = (why: Error) => {
      clearTimeout(timer);
      reject(why instanceof Refused ? why : new Disconnected(`${url}: ${why.message}`));
    };
    upgrade.on("error", failed);
    upgrade.on("response", (response) => {
      failed(refusal(response));
      upgrade.destroy();
    });
    upgrade.on("upgrade", (response, stream, head) => {
      if (response.headers["sec-websocket-accept"] !== createHash("sha1").update(key + GUID).digest("base64")) {
        stream.destroy();
        return failed(new Error("what answers is no WebSocket"));
      }
      clearTimeout(timer);
      const socket = new NodeSocket(stream, events);
      resolve(socket);
      if (head.length > 0) queueMicrotask(() => socket.received(head)); // when the caller has the socket
    });
    upgrade.end();
  });

/** Returns the error for an HTTP answer instead of an upgrade. */
function refusal({ statusCode, statusMessage }: IncomingMessage): Error {
  if (statusCode === 401) return new Refused("unauthorized", "the node does not accept the token");
  if (statusCode === 403) return new Refused("forbidden", "the node does not permit the connection");
  return new Error(`the node answers ${statusCode} ${statusMessage}`);
}

/** A connection after its upgrade. */
class NodeSocket implements Socket {
  readonly pings = true;
  #stream: Duplex;
  #events: SocketEvents;
  #reader = new FrameReader();
  #heard = Date.now();
  #keeper: ReturnType<typeof setInterval>;
  #end: { code: number; reason: string } | undefined; // of the node's close frame, or of our own fault
  #closing = false; // a close frame was sent, after which nothing follows
  #over = false;

  constructor(stream: Duplex, events: SocketEvents) {
    this.#stream = stream;
    this.#events = events;
    this.#keeper = setInterval(() => this.#keepAlive(), PING_AFTER / 3);
    stream.on("data", (data: Buffer) => this.received(data));
    stream.on("error", (why) => { this.#end ??= { code: 1006, reason: why.message }; });
    stream.on("end", () => stream.end());
    stream.on("close", () => this.#finish());
  }

  get buffered(): number {
    return this.#stream.writableLength;
  }

  send(text: string): void {
    if (!this.#closing) this.#stream.write(frame(OPCODE.text, Buffer.from(text)));
  }

  close(): void {
    this.#sayClose(1000, "");
  }

  abort(): void {
    this.#stream.destroy();
    this.#finish(); // does not wait for the event
  }

  /** Takes bytes from the node. */
  received(data: Buffer): void {
    this.#heard = Date.now();
    try {
      for (const { opcode, payload } of this.#reader.read(data)) {
        if (this.#over) return;
        if (opcode === OPCODE.text) this.#events.message(payload.toString());
        else if (opcode === OPCODE.ping && !this.#closing) this.#stream.write(frame(OPCODE.pong, payload));
        else if (opcode === OPCODE.close) this.#closed(payload);
      }
    } catch (why) {
      if (!(why instanceof FrameError)) throw why;
      this.#end ??= { code: why.code, reason: why.message };
      this.#sayClose(why.code, why.message);
      this.#finish(); // does not wait for the node, as in the next function
    }
  }

  #closed(payload: Buffer): void {
    const code = payload.length >= 2 ? payload.readUInt16BE() : 1005;
    this.#end ??= { code, reason: payload.subarray(2).toString() };
    this.#sayClose(code === 1005 ? 1000 : code, "");
    this.#stream.end();
    this.#finish();
  }

  #sayClose(code: number, reason: string): void {
    if (this.#closing) return;
    this.#stream.write(closeFrame(code, reason));
    this.#closing = true;
    setTimeout(() => this.abort(), CLOSE_TIME).unref();
  }

  #keepAlive(): void {
    const silence = Date.now() - this.#heard;
    if (silence >= DEAD_AFTER) {
      this.#end ??= { code: 1006, reason: "the node is silent" };
      this.abort();
    } else if (silence >= PING_AFTER && !this.#closing) {
      this.#stream.write(frame(OPCODE.ping, Buffer.alloc(0)));
    }
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#closing = true;
    clearInterval(this.#keeper);
    const { code, reason } = this.#end ?? { code: 1006, reason: "the node hung up" };
    this.#events.closed(code, reason);
  }
}
