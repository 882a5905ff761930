// Package sealed signs and encrypts the payloads of messages between two agents, end to end: the
// nodes and routers between the agents can neither read a payload nor change it unnoticed.
// docs/sealed-payloads.md has the format, and the attacks against which it protects and does not
// protect.
//
// A payload is signed by the key of its sender (JWS, RFC 7515: EdDSA or ES256) and then encrypted
// for the key of its receiver (JWE, RFC 7516: ECDH-ES+A256KW with A256GCM). The signature covers
// the whole message with its ids, act, times and metadata, so that the payload cannot be moved to
// another message. The keys of an agent are in its entry of the directory, in a signed statement
// ([Sealer.Statement]). [Trust] says which statements are believed.
//
//	keys, err := sealed.GenerateKeys()
//	…
//	s, err := sealed.New(sealed.Options{Agent: "Eddy", Keys: keys, Trust: sealed.Trust{Pins: …}})
//	…
//	err = node.Spawn(ctx, "Eddy", newEddy, runtime.Sealed(s))
//
// All conversations of such an agent are sealed, in both directions. The agent does not send a
// message that it cannot seal, and refuses one that is not sealed.
package sealed
