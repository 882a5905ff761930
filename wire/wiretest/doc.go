// Package wiretest is the conformance suite for transports: [Run] checks a transport against
// everything that a [wire.Session] relies on. It also has tools for tests of sessions: a
// small [Dialect], a [Recorder], and [Pipe], an in-memory transport.
package wiretest
