/** Sealed payloads: signed by their sender and encrypted for their receiver. docs/sealed-payloads.md of the repository has the format. */
import { type Message } from "./messages.js";
/** The keys of an agent, and whose keys it believes. One of pins and firstUse must be set. */
export interface SealOptions {
    /** The private keys of the agent: what `ribosome keys FILE --new` writes. */
    keys: string;
    /** The ids of the keys of other agents, as `ribosome keys FILE` prints them. The keys of an agent that is named here are believed by nothing else. */
    pins?: Record<string, string | string[]>;
    /** Believes the first keys that another agent is seen with. */
    firstUse?: boolean;
}
/** The most bytes of JSON whose sealed form is sure not to be too long. */
export declare const MAX_CLEAR: number;
/** Finds the signed statement of an agent's keys: the member sealed_keys of its capabilities. */
export type Lookup = (agent: string) => Promise<string | undefined>;
/** Seals the messages of one agent, and opens those that it gets. */
export declare class Sealer {
    #private;
    private readonly agent;
    private readonly signing;
    private readonly encryption;
    private readonly pins;
    private readonly firstUse;
    /** The signed statement of the agent's keys, which is public. */
    readonly statement: string;
    private constructor();
    /** Reads the keys. Throws a TypeError for keys that are not as they should be. */
    static of(agent: string, { keys, pins, firstUse }: SealOptions): Promise<Sealer>;
    /** Returns the message with its payload sealed. Throws a Rejected if no key of its receiver is believed. */
    seal(m: Message, lookup: Lookup): Promise<Message>;
    /** Returns the message as its sender has made it. Throws a Rejected for one that is not sealed as it should be. */
    open(m: Message): Promise<Message>;
}
/** Reports whether a message is never sealed: discovery is for everybody. */
export declare function isPublic(m: Message): boolean;
