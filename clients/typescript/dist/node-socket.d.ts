import { type Open } from "./socket.js";
/**
 * Opens a WebSocket in Node.js: 20 has no WebSocket without a flag, and that of later versions takes neither a
 * header for the token nor the certificates to trust.
 */
export declare const openNodeSocket: Open;
