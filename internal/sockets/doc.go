// Package sockets has what the transports of package wire have in common below their
// protocols: a listener that outlives what goes wrong for a while, what of TLS is strong
// enough, and what of a peer's text is fit to be shown.
package sockets
