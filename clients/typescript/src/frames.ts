/** The frames of a WebSocket client (RFC 6455 §5). */

import { randomBytes } from "node:crypto";

import { MAX_MESSAGE } from "./socket.js";

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A violation of the protocol, with the code for the close frame. */
export class FrameError extends Error {
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

/** A message or a control frame. */
export interface Frame {
  opcode: number;
  payload: Buffer;
}

/** Reads frames from bytes that come in pieces, and joins fragments. A text message is valid UTF-8. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #length = 0;
  #wanted = 2; // bytes until the next frame can be read
  #fragments: Buffer[] = [];
  #joined = 0; // the bytes of the fragments
  #opcode = 0; // of the message whose fragments are read; 0 = none

  /** Returns the frames that are complete with these bytes. Throws a FrameError. */
  *read(data: Buffer): Generator<Frame> {
    this.#pieces.push(data);
    this.#length += data.length;
    while (this.#length >= this.#wanted) {
      const all = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
      this.#pieces = [all];
      const header = headerOf(all);
      if (!header || all.length < header.size + header.length) {
        this.#wanted = header ? header.size + header.length : all.length + 1;
        if (header) this.#check(header);
        continue;
      }
      this.#check(header);
      this.#wanted = 2;
      this.#pieces = [all.subarray(header.size + header.length)];
      this.#length = this.#pieces[0]!.length;
      const whole = this.#join(header, all.subarray(header.size, header.size + header.length));
      if (whole) yield whole;
    }
  }

  #check({ first, masked, length }: Header): void {
    const opcode = first & 0x0f;
    const control = opcode >= 8;
    if ((first & 0x70) !== 0) throw new FrameError(1002, "a reserved bit is set");
    if (masked) throw new FrameError(1002, "a frame of the node is masked");
    if (!(Object.values(OPCODE) as number[]).includes(opcode)) throw new FrameError(1002, `the opcode ${opcode} is unknown`);
    if (control && ((first & 0x80) === 0 || length > 125)) throw new FrameError(1002, "a control frame is too long, or a fragment");
    if (!control && (opcode === OPCODE.continuation) !== (this.#opcode !== 0)) throw new FrameError(1002, "a fragment is not where it belongs");
    if ((control ? 0 : this.#joined) + length > MAX_MESSAGE) throw new FrameError(1009, `the message is longer than ${MAX_MESSAGE} bytes`);
  }

  #join({ first }: Header, payload: Buffer): Frame | undefined {
    const opcode = first & 0x0f;
    if (opcode >= 8) {
      if (opcode === OPCODE.close && payload.length === 1) throw new FrameError(1002, "a close frame has half a code");
      return { opcode, payload };
    }
    this.#opcode ||= opcode;
    this.#fragments.push(payload);
    this.#joined += payload.length;
    if ((first & 0x80) === 0) return undefined;
    const whole = { opcode: this.#opcode, payload: this.#fragments.length === 1 ? payload : Buffer.concat(this.#fragments) };
    this.#opcode = 0;
    this.#fragments = [];
    this.#joined = 0;
    if (whole.opcode !== OPCODE.text) throw new FrameError(1003, "a message is binary");
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(whole.payload);
    } catch {
      throw new FrameError(1007, "a message is no UTF-8");
    }
    return whole;
  }
}

interface Header {
  first: number;
  masked: boolean;
  size: number; // of the header
  length: number; // of the payload
}

/** Returns the header at the beginning of data, or undefined if it is not complete. */
function headerOf(data: Buffer): Header | undefined {
  if (data.length < 2) return undefined;
  const [first, second] = [data[0]!, data[1]!];
  const masked = (second & 0x80) !== 0;
  const short = second & 0x7f;
  if (short < 126) return { first, masked, size: 2, length: short };
  if (short === 126) return data.length < 4 ? undefined : { first, masked, size: 4, length: data.readUInt16BE(2) };
  return data.length < 10 ? undefined : { first, masked, size: 10, length: Number(data.readBigUInt64BE(2)) };
}

/** Returns a masked frame. */
export function frame(opcode: number, payload: Buffer): Buffer {
  const extended = payload.length < 126 ? 0 : payload.length < 1 << 16 ? 2 : 8;
  const start = 2 + extended + 4;
  const out = Buffer.allocUnsafe(start + payload.length);
  out[0] = 0x80 | opcode;
  out[1] = 0x80 | (extended === 0 ? payload.length : extended === 2 ? 126 : 127);
  if (extended === 2) out.writeUInt16BE(payload.length, 2);
  if (extended === 8) out.writeBigUInt64BE(BigInt(payload.length), 2);
  const mask = randomBytes(4);
  mask.copy(out, start - 4);
  for (let i = 0; i < payload.length; i++) out[start + i] = payload[i]! ^ mask[i & 3]!;
  return out;
}

/** Returns a close frame. Its reason is cut to what fits in. */
export function closeFrame(code: number, reason: string): Buffer {
  const payload = Buffer.alloc(2 + Math.min(Buffer.byteLength(reason), 120));
  payload.writeUInt16BE(code);
  return frame(OPCODE.close, payload.subarray(0, 2 + payload.write(reason, 2)));
}
