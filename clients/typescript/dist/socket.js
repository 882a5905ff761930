/** The largest message in bytes that a node takes by default. */
export const MAX_MESSAGE = 16 << 20;
/** Milliseconds in which a connection must be made, and for the node's close frame. */
export const CONNECT_TIME = 10_000;
export const CLOSE_TIME = 2_000;
/** Milliseconds without a frame from the node before a ping, and before the connection counts as lost. */
export const PING_AFTER = 30_000;
export const DEAD_AFTER = 60_000;
/** Throws a TypeError unless url is such as ws://127.0.0.1:8443/mcp, or wss:// for TLS. */
export function checkURL(url) {
    const protocol = URL.canParse(url) ? new URL(url).protocol : "";
    if (protocol !== "ws:" && protocol !== "wss:")
        throw new TypeError(`${JSON.stringify(url)}: want an address such as ws://127.0.0.1:8443/mcp, or wss:// for TLS`);
}
