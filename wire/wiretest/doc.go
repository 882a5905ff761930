// Package wiretest has tools for tests of sessions: a small [Dialect], a [Recorder], and [Pipe], an
// in-memory transport. The suite that each transport passes is in wire/conformance.
package wiretest
