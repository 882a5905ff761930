/** The frames of a WebSocket client (RFC 6455 §5). */
export declare const OPCODE: {
    readonly continuation: 0;
    readonly text: 1;
    readonly binary: 2;
    readonly close: 8;
    readonly ping: 9;
    readonly pong: 10;
};
/** A violation of the protocol, with the code for the close frame. */
export declare class FrameError extends Error {
    readonly code: number;
    constructor(code: number, message: string);
}
/** A message or a control frame. */
export interface Frame {
    opcode: number;
    payload: Buffer;
}
/** Reads frames from bytes that come in pieces, and joins fragments. A text message is valid UTF-8. */
export declare class FrameReader {
    #private;
    /** Returns the frames that are complete with these bytes. Throws a FrameError. */
    read(data: Buffer): Generator<Frame>;
}
/** Returns a masked frame. */
export declare function frame(opcode: number, payload: Buffer): Buffer;
/** Returns a close frame. Its reason is cut to what fits in. */
export declare function closeFrame(code: number, reason: string): Buffer;
