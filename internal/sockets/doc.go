// Package sockets has what the transports of package wire have in common below their
// protocols: a listener that outlives what goes wrong for a while, and what of TLS is
// strong enough.
package sockets
