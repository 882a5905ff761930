import { type Open } from "./socket.js";
/** Opens the WebSocket of the browser, which can send no token as it connects: the messages have it. */
export declare const openBrowserSocket: Open;
