/** One or more certificates or keys in PEM. */
export type PEM = string | Uint8Array | (string | Uint8Array)[];
/** The TLS of a wss:// connection in Node.js. A browser has its own. */
export interface TLSOptions {
    /** The certificates to trust instead of those of Node.js. */
    ca?: PEM;
    /** A client certificate, and its key. */
    cert?: PEM;
    key?: PEM;
    passphrase?: string;
    /** The name that the certificate of the node must have, if it is not that of the address. */
    servername?: string;
}
/** How to connect to a node. */
export interface ConnectOptions {
    tls?: TLSOptions;
}
/** What a socket tells its owner. */
export interface SocketEvents {
    /** A text frame has come. */
    message(text: string): void;
    /** The connection has ended; it is the last call. code is that of the close frame, 1006 if there was none. */
    closed(code: number, reason: string): void;
}
/** An open WebSocket. */
export interface Socket {
    /** The bytes that wait to be written. */
    readonly buffered: number;
    /** Whether it finds out by itself that the node is silent. */
    readonly pings: boolean;
    /** Queues a text frame without waiting. Does nothing after the end. */
    send(text: string): void;
    /** Closes the connection in order, and ends it if the node does not do so, too. */
    close(): void;
    /** Ends the connection at once. */
    abort(): void;
}
/** Opens a WebSocket. Throws Disconnected, or Refused if the node does not want the token. */
export type Open = (url: string, token: string | undefined, options: ConnectOptions, events: SocketEvents) => Promise<Socket>;
/** The largest message in bytes that a node takes by default. */
export declare const MAX_MESSAGE: number;
/** Milliseconds in which a connection must be made, and for the node's close frame. */
export declare const CONNECT_TIME = 10000;
export declare const CLOSE_TIME = 2000;
/** Milliseconds without a frame from the node before a ping, and before the connection counts as lost. */
export declare const PING_AFTER = 30000;
export declare const DEAD_AFTER = 60000;
/** Throws a TypeError unless url is such as ws://127.0.0.1:8443/mcp, or wss:// for TLS. */
export declare function checkURL(url: string): void;
