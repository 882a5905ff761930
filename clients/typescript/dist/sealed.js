/** Sealed payloads: signed by their sender and encrypted for their receiver. docs/sealed-payloads.md of the repository has the format. */
import { Rejected } from "./errors.js";
import { REFUSALS, isObject, refusalOf, rejection, failure, senderOf } from "./messages.js";
const MAX_SEALED = 8 << 20; // bytes of a sealed payload
/** The most bytes of JSON whose sealed form is sure not to be too long. */
export const MAX_CLEAR = (MAX_SEALED >> 1) - (64 << 10);
const SIGNED_HEADER = ["alg", "kid", "typ"];
const SEALED_HEADER = ["alg", "enc", "epk", "kid", "typ"];
const STATEMENT = "ribosome-keys+jws";
const SIGNED = "ribosome-payload+jws";
const SEALED = "ribosome-payload+jwe";
const KEY_ALGORITHM = "ECDH-ES+A256KW";
const LIFETIME = 300; // seconds for which a sealed payload is valid
const SKEW = 60; // seconds that two clocks may differ
const MAX_SEEN = 65_536; // payloads that are remembered, so that none is taken twice
const MAX_AGENTS = 16_384; // whose keys are remembered
const ENVELOPE = [
    "mcp_version", "message_id", "performative", "sender", "receiver", "conversation_id", "protocol", "message_type", "in_reply_to", "reply_with", "reply_by",
    "language", "ontology", "timestamp", "trace", "auth_token", "payload",
]; // the members of a message that are neither metadata nor the budget
/** Seals the messages of one agent, and opens those that it gets. */
export class Sealer {
    agent;
    signing;
    encryption;
    pins;
    firstUse;
    /** The signed statement of the agent's keys, which is public. */
    statement;
    #began = now();
    #known = new Map(); // by agent, in lower case
    #seen = new Map(); // until when a payload is remembered
    constructor(agent, statement, signing, encryption, pins, firstUse) {
        this.agent = agent;
        this.signing = signing;
        this.encryption = encryption;
        this.pins = pins;
        this.firstUse = firstUse;
        this.statement = statement;
    }
    /** Reads the keys. Throws a TypeError for keys that are not as they should be. */
    static async of(agent, { keys, pins = {}, firstUse = false }) {
        const set = JSON.parse(keys);
        const all = await Promise.all((isObject(set) && Array.isArray(set.keys) ? set.keys : []).map((jwk) => readKey(jwk)));
        const [signing, encryption] = ["sig", "enc"].map((use) => all.find((key) => key.use === use && key.jwk.d));
        if (!signing || !encryption)
            throw new TypeError("keys: want a JSON Web Key Set with two private keys: make one by ribosome keys FILE --new");
        if (Object.keys(pins).length === 0 && !firstUse)
            throw new TypeError("pins, firstUse: want one of them: whose keys are believed");
        const about = { agent, version: Date.now(), keys: [signing, encryption].map(publicOf) };
        const statement = await sign(signing, STATEMENT, about);
        return new Sealer(agent, statement, signing, encryption, new Map(Object.entries(pins).map(([id, of]) => [fold(id), new Set([of].flat())])), firstUse);
    }
    /** Returns the message with its payload sealed. Throws a Rejected if no key of its receiver is believed. */
    async seal(m, lookup) {
        const { agent_id: receiver } = m.receiver;
        const to = await this.#keysOf(receiver, this.#known.has(fold(receiver)) ? undefined : await lookup(receiver));
        const { budget, ...metadata } = pick(m, (name) => !ENVELOPE.includes(name));
        const inner = {
            id: m.message_id, performative: m.performative, sender: this.agent, receiver, conversation_id: m.conversation_id ?? "", protocol: m.protocol,
            message_type: m.message_type, in_reply_to: m.in_reply_to, reply_with: m.reply_with, reply_by: m.reply_by, language: m.language, ontology: m.ontology,
            timestamp: m.timestamp, budget, metadata, payload: m.payload,
        };
        const jti = base64(crypto.getRandomValues(new Uint8Array(20)));
        const signed = await sign(this.signing, SIGNED, { jti, iat: now(), exp: now() + LIFETIME, keys: this.statement, message: inner });
        const jose = await encrypt(to.keys.find(({ use }) => use === "enc"), signed);
        if (jose.length > MAX_SEALED)
            throw new Rejected("invalid_payload_structure", `the payload has ${jose.length} bytes after sealing, more than ${MAX_SEALED}`);
        return { ...envelopeOf(m), message_type: sealedType(m.message_type), payload: { jose } };
    }
    /** Returns the message as its sender has made it. Throws a Rejected for one that is not sealed as it should be. */
    async open(m) {
        if (m.message_type !== "jose" && !String(m.message_type).startsWith("jose:"))
            return unsealed(m);
        const { jose } = m.payload;
        if (typeof jose !== "string" || jose.length > MAX_SEALED)
            throw invalid(`payload.jose: want a JWE in the compact form, of ${MAX_SEALED} bytes at most`);
        const compact = await this.#decrypt(jose);
        const { header, content } = parse(compact, SIGNED, SIGNED_HEADER);
        const { jti, iat, exp, keys, message: inner } = content;
        if (typeof jti !== "string" || !jti || jti.length > 1024 || !isObject(inner) || typeof iat !== "number" || typeof exp !== "number") {
            throw invalid("want the claims of a sealed payload");
        }
        const sender = senderOf(m);
        const by = (await this.#keysOf(sender, typeof keys === "string" ? keys : undefined)).keys.find(({ id, use }) => id === header.kid && use === "sig");
        if (!by)
            throw new Rejected("unknown_key", `the key by which the payload is signed is not among those of ${sender}`);
        if (!(await verify(by, header, compact)))
            throw invalid(`the signature is not by ${sender}`);
        this.#check(m, inner, sender);
        this.#fresh(`${fold(sender)}\n${jti}`, iat, exp);
        return restore(m, inner);
    }
    async #decrypt(jose) {
        const [head = "", wrapped = "", iv = "", ciphertext = "", tag = "", ...more] = jose.split(".");
        const header = readHeader(head, SEALED, SEALED_HEADER);
        if (header.alg !== KEY_ALGORITHM || header.enc !== "A256GCM" || more.length > 0)
            throw invalid(`want a JWE of ${KEY_ALGORITHM} and A256GCM`);
        if (header.kid !== this.encryption.id)
            throw new Rejected("unknown_key", "the payload is sealed for another key");
        try {
            const kek = await agree(this.encryption.jwk, { kty: header.epk.kty, crv: header.epk.crv, x: header.epk.x, y: header.epk.y }, "unwrapKey");
            const cek = await crypto.subtle.unwrapKey("raw", bytes(wrapped), kek, "AES-KW", { name: "AES-GCM" }, false, ["decrypt"]);
            const [text, mac, nonce] = [bytes(ciphertext), bytes(tag), bytes(iv)];
            if (mac.length !== 16 || nonce.length !== 12)
                throw invalid("want a tag of 16 bytes and an iv of 12");
            const sealed = new Uint8Array(text.length + mac.length);
            sealed.set(text);
            sealed.set(mac, text.length);
            const algorithm = { name: "AES-GCM", iv: nonce, additionalData: utf8(head) };
            return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, cek, sealed));
        }
        catch {
            throw invalid("the payload cannot be decrypted: it was changed, or is for another key");
        }
    }
    /** Compares the signed message with the envelope in which it came. */
    #check(m, inner, sender) {
        if (fold(inner.receiver) !== fold(this.agent))
            throw new Rejected("wrong_receiver", `the payload was sealed for ${String(inner.receiver)}`);
        const { conversation_id: conversation = "", in_reply_to: reply = "" } = inner;
        const around = m.conversation_id || m.message_id;
        const same = fold(inner.sender) === fold(sender) && inner.id === m.message_id && inner.performative === m.performative
            && sealedType(inner.message_type) === m.message_type && (conversation === "" || conversation === around)
            && (!m.in_reply_to || reply === m.in_reply_to) && (conversation !== "" || reply !== "" || around === m.message_id);
        if (!same)
            throw invalid("the sealed payload belongs to another message");
    }
    /** Refuses a payload that is too old or has come before. */
    #fresh(id, iat, exp) {
        const until = Math.min(iat + LIFETIME, exp) + SKEW;
        if (now() > until || iat > now() + SKEW || iat < this.#began - SKEW)
            throw new Rejected("seal_expired", "the payload was sealed too long ago, or a clock is wrong");
        for (const [old, by] of this.#seen) {
            if (now() <= by)
                break; // they are in the order of their coming, nearly that of their ends
            this.#seen.delete(old);
        }
        if (this.#seen.has(id))
            throw new Rejected("replayed", "the payload has come before");
        if (this.#seen.size >= MAX_SEEN)
            throw new Rejected("busy", `${MAX_SEEN} sealed payloads are remembered until they expire`);
        this.#seen.set(id, until);
    }
    /** Returns the keys of another agent, after a statement that is believed. */
    async #keysOf(agent, text) {
        let why = "";
        try {
            if (text)
                await this.#admit(fold(agent), text);
        }
        catch (e) {
            why = `: ${e instanceof Error ? e.message : e}`;
        }
        const known = this.#known.get(fold(agent));
        if (!known || (known.expires !== 0 && now() >= known.expires))
            throw new Rejected("unknown_key", `no trusted key of ${agent} is known${why}`);
        return known;
    }
    async #admit(agent, text) {
        const before = this.#known.get(agent);
        if (before?.text === text)
            return;
        if (text.length > 16 << 10)
            throw invalid("the statement is too long");
        const { header, content } = parse(text, STATEMENT, SIGNED_HEADER);
        const { version, exp: expires = 0 } = content;
        if (fold(content.agent) !== agent || typeof version !== "number" || typeof expires !== "number" || !Array.isArray(content.keys) || content.keys.length > 8) {
            throw invalid("the statement is not one of the agent's keys");
        }
        const keys = await Promise.all(content.keys.map((jwk) => readKey(jwk)));
        if (keys.some(({ jwk }) => jwk.d) || !keys.some(({ use }) => use === "enc"))
            throw invalid("the statement is not one of public keys");
        if (before && version < before.version)
            throw invalid("the statement is older than one that is known");
        if (!before && this.#known.size >= MAX_AGENTS)
            throw invalid(`the keys of ${MAX_AGENTS} agents are known`);
        const pins = this.pins.get(agent);
        const trusted = pins?.has(header.kid) || (before ? before.signers.has(header.kid) : !pins && this.firstUse);
        const by = keys.find(({ id, use }) => id === header.kid && use === "sig");
        if (!trusted || !by || !(await verify(by, header, text)))
            throw invalid("the key that has signed the statement is not trusted");
        this.#known.set(agent, { text, version, expires, keys, signers: new Set([...(pins ?? []), ...keys.filter(({ use }) => use === "sig").map(({ id }) => id)]) });
    }
}
/** Returns what the agent gets of a message that is not sealed. Nodes can refuse and cancel, as they can lose a message, and say nothing in an agent's name. */
function unsealed(m) {
    if (isPublic(m))
        return m;
    if (m.performative === "CANCEL")
        return { ...envelopeOf(m), payload: {} };
    if (!REFUSALS.includes(m.performative))
        throw new Rejected("seal_required", "the payload is not sealed");
    const { code } = refusalOf(m);
    const text = "not signed by the agent";
    return { ...envelopeOf(m), payload: m.performative === "FAILURE" ? failure(code, text) : rejection(code, text) };
}
/** Returns the message that was sealed. What nodes on the way have added is dropped, but for the trace. */
function restore(m, inner) {
    const opened = { ...(isObject(inner.metadata) && inner.metadata), ...envelopeOf(m) };
    for (const name of ["protocol", "message_type", "in_reply_to", "reply_with", "reply_by", "language", "ontology", "timestamp", "budget"]) {
        opened[name] = inner[name];
        if (!inner[name])
            delete opened[name];
    }
    return { ...opened, payload: isObject(inner.payload) ? inner.payload : {} };
}
function pick(m, keeps) {
    return Object.fromEntries(Object.entries(m).filter(([name]) => keeps(name)));
}
function envelopeOf(m) {
    return pick(m, (name) => ENVELOPE.includes(name));
}
/** Reports whether a message is never sealed: discovery is for everybody. */
export function isPublic(m) {
    return ["QUERY_CAPABILITIES", "INFORM_CAPABILITIES"].includes(m.performative) && !m.message_type;
}
function sealedType(type) {
    return type ? `jose:${String(type)}` : "jose";
}
function invalid(text) {
    return new Rejected("invalid_seal", text);
}
function fold(agent) {
    return typeof agent === "string" ? agent.toLowerCase() : "";
}
function now() {
    return Math.floor(Date.now() / 1000);
}
/** Reads a key of Ed25519 or P-256. Its id is computed: the thumbprint (RFC 7638). */
async function readKey(jwk) {
    const { kty, crv, x, y, use = "" } = (isObject(jwk) ? jwk : {});
    const fits = kty === "OKP" ? crv === "Ed25519" && use === "sig" : kty === "EC" && crv === "P-256" && (use === "sig" || use === "enc");
    if (!fits || !x || (kty === "EC" && !y))
        throw new TypeError("want a key of Ed25519 or P-256 to sign, or of P-256 to encrypt");
    const text = kty === "OKP" ? JSON.stringify({ crv, kty, x }) : JSON.stringify({ crv, kty, x, y });
    return { id: base64(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(text)))), use, jwk: jwk };
}
function publicOf({ id, use, jwk: { kty, crv, x, y } }) {
    return { use, kty, kid: id, crv, x, ...(y && { y }) };
}
/** Returns the algorithm of signatures by a key: its name in JOSE and its parameters. */
function signature({ jwk }) {
    return jwk.kty === "OKP" ? { alg: "EdDSA", name: "Ed25519" } : { alg: "ES256", name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
}
async function importKey({ kty, crv, x, y, d }, algorithm, usages) {
    return crypto.subtle.importKey("jwk", { kty, crv, x, ...(y && { y }), ...(d && { d }) }, algorithm, false, usages);
}
async function sign(by, typ, content) {
    const { alg, ...algorithm } = signature(by);
    const text = `${base64(utf8(JSON.stringify({ alg, kid: by.id, typ })))}.${base64(utf8(JSON.stringify(content)))}`;
    const key = await importKey(by.jwk, algorithm, ["sign"]);
    return `${text}.${base64(new Uint8Array(await crypto.subtle.sign(algorithm, key, utf8(text))))}`;
}
async function verify(by, header, compact) {
    const { alg, ...algorithm } = signature(by);
    const end = compact.lastIndexOf(".");
    if (header.alg !== alg)
        return false;
    const key = await importKey(by.jwk, algorithm, ["verify"]);
    return crypto.subtle.verify(algorithm, key, bytes(compact.slice(end + 1)), utf8(compact.slice(0, end)));
}
async function encrypt(to, text) {
    const ephemeral = await crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"]);
    const own = await crypto.subtle.exportKey("jwk", ephemeral.privateKey);
    const { kty, crv, x, y } = own;
    const header = base64(utf8(JSON.stringify({ alg: KEY_ALGORITHM, enc: "A256GCM", epk: { kty, crv, x, y }, kid: to.id, typ: SEALED })));
    const kek = await agree(own, to.jwk, "wrapKey");
    const cek = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, true, ["encrypt"]);
    const wrapped = new Uint8Array(await crypto.subtle.wrapKey("raw", cek, kek, "AES-KW"));
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData: utf8(header) }, cek, utf8(text)));
    return [header, ...[wrapped, iv, sealed.subarray(0, -16), sealed.subarray(-16)].map(base64)].join(".");
}
/** Returns the key that wraps the key of a payload: ECDH-ES with the Concat KDF (RFC 7518, 4.6). */
async function agree(own, other, usage) {
    const algorithm = { name: "ECDH", namedCurve: "P-256" };
    const { d: _, ...point } = other;
    const secret = await crypto.subtle.deriveBits({ name: "ECDH", public: await importKey(point, algorithm, []) }, await importKey(own, algorithm, ["deriveBits"]), 256);
    const word = (n) => [0, 0, n >> 8, n & 255];
    const input = [...word(1), ...new Uint8Array(secret), ...word(KEY_ALGORITHM.length), ...utf8(KEY_ALGORITHM), ...word(0), ...word(0), ...word(256)];
    return crypto.subtle.importKey("raw", await crypto.subtle.digest("SHA-256", new Uint8Array(input)), "AES-KW", false, [usage]);
}
/** Reads a JWS without verifying it. */
function parse(compact, typ, members) {
    const [head = "", body = "", mac = "", ...more] = compact.split(".");
    const header = readHeader(head, typ, members);
    const content = decoded(body);
    if (!mac || more.length > 0 || !isObject(content))
        throw invalid("want a JWS in the compact form");
    return { header, content };
}
/** Reads a header. One with another member, such as zip, crit or jwk, is refused. */
function readHeader(head, typ, members) {
    const header = head.length <= 2 << 10 ? decoded(head) : undefined;
    if (!isObject(header) || Object.keys(header).sort().join() !== members.join() || header.typ !== typ || typeof header.kid !== "string" || (members === SEALED_HEADER && !isObject(header.epk))) {
        throw invalid(`want a header of the type ${typ}, with ${members.join(", ")} and nothing else`);
    }
    return header;
}
function decoded(text) {
    try {
        return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes(text)));
    }
    catch {
        return undefined;
    }
}
function utf8(text) {
    return new TextEncoder().encode(text);
}
/** Writes base64url without padding. */
function base64(data) {
    let text = "";
    for (let i = 0; i < data.length; i += 1 << 15)
        text += String.fromCharCode(...data.subarray(i, i + (1 << 15)));
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
/** Reads base64url without padding, in its one form. */
function bytes(text) {
    const rest = text.length % 4; // the characters of the last byte or two
    if (rest === 1 || /[^A-Za-z0-9_-]/.test(text))
        throw invalid("want base64url");
    const data = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    if (rest > 0 && base64(data.subarray(data.length - rest + 1)) !== text.slice(-rest))
        throw invalid("want base64url");
    return data;
}
