// Package sockets has the shared functions of the transports of package wire: a listener that
// retries after temporary errors, a lingering close, the minimum TLS configuration, and the
// sanitizing of a peer's text.
package sockets
