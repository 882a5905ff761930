// Package collector has the tests of what ribosome node exports by OTLP against the receiver of the
// OpenTelemetry collector. It is a module of its own, so that the dependencies of the collector are
// in no program (docs/adr/0035-telemetry.md). They take more than a minute to compile the first
// time: make collector and make check-all run the tests, and .ci/run does not.
package collector
