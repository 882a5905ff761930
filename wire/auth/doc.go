// Package auth has the ways in which a peer of package wire proves who it is: static
// bearer tokens ([Tokens]), JSON Web Tokens ([JWT]) and client certificates
// ([Certificates]), and what a client needs to do so ([TokenSource], [ClientTLS]). [Any]
// combines them, and [Rules] say who may talk to whom.
//
//	tokens, warnings, err := auth.LoadTokens("tokens")
//	…
//	known, err := auth.Tokens(tokens)
//	signed, err := auth.JWT(auth.JWTOptions{Issuer: "https://id.example.org", JWKS: auth.JWKSOptions{URL: …}})
//	server, err := wire.NewServer(wire.Options{Auth: auth.Any(signed, known), …})
//
// # Secrets
//
// Nothing of this package shows a token or a key: not its errors, not its values when they
// are printed or logged. A peer that is turned away learns that it was, and no more; why is
// in the error, which the gate of package wire logs.
//
// # Concurrency
//
// Everything exported may be used from any goroutine, unless it says otherwise. Nothing
// here starts a goroutine: keys and tokens are renewed by whoever needs them, one at a
// time, while the others go on with what is known. So there is nothing to stop, and a
// server without peers asks nobody for keys.
package auth
