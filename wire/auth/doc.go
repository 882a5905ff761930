// Package auth implements authentication and authorization for package wire. Servers authenticate
// peers by static bearer tokens ([Tokens]), JSON Web Tokens ([JWT]), opaque tokens of OAuth 2.0
// issuers ([Introspection]) and client certificates ([Certificates]), which [Any] combines. [Rules]
// decide which peer may send to which agent. Clients get their credentials from a [TokenSource] and
// [ClientTLS].
//
//	tokens, err := auth.ParseTokens(text)
//	…
//	known, err := auth.Tokens(tokens)
//	signed, err := auth.JWT(auth.JWTOptions{Issuer: "https://id.example.org", JWKS: auth.JWKSOptions{URL: …}})
//	server, err := wire.NewServer(wire.Options{Auth: auth.Any(signed, known), …})
//
// # Secrets
//
// Errors and printed or logged values of this package never contain a token or a key. A
// rejected peer learns only that it was rejected. The reason is in the error, which package
// wire logs.
//
// # Concurrency
//
// All exported functions and methods are safe for concurrent use unless their documentation
// says otherwise. The package starts no goroutines. The caller that finds an outdated key set
// or token renews it; concurrent callers continue with the old one. So there is nothing to
// stop, and a server without peers fetches no keys.
package auth
