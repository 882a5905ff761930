// Package sealed signs and encrypts the payloads of messages between two agents, end to end: the nodes and routers between them pass
// on what they can neither read nor change unnoticed. docs/sealed-payloads.md has the format, what it protects against and what it
// does not.
//
// A payload is signed by the key of its sender (JWS, RFC 7515: EdDSA or ES256) and then encrypted for the key of its receiver (JWE,
// RFC 7516: ECDH-ES+A256KW with A256GCM). What is signed is the whole message with its ids, act, times and metadata, so that it
// cannot be moved to another message. The keys of an agent are in its entry of the directory, in a statement ([Sealer.Statement]) that
// is signed; [Trust] says which statements are believed.
//
//	keys, err := sealed.GenerateKeys()
//	…
//	s, err := sealed.New(sealed.Options{Agent: "Eddy", Keys: keys, Trust: sealed.Trust{Pins: …}})
//	…
//	err = node.Spawn(ctx, "Eddy", newEddy, runtime.Sealed(s))
//
// All conversations of such an agent are sealed, in both directions. A message that cannot be sealed is not sent, and one that is not
// sealed is not taken.
package sealed
