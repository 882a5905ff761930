// Package wiretest is the conformance suite of transports: [Run] holds one to all that
// a [wire.Session] relies on. It also has what tests of sessions need: a small
// [Dialect], a [Recorder], and [Pipe], a transport without sockets.
package wiretest
