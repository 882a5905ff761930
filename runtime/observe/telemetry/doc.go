// Package telemetry exports what happens on a node through the API of OpenTelemetry: metrics of
// conversations, jobs and agents, and a span for each side of a conversation and each job. It needs
// no SDK: the program brings the providers.
//
// # Ordering
//
// Events are counted, and spans made, in the order of their publication. A span is made when it
// ends.
//
// # Backpressure
//
// A [Telemetry] delays no agent, except that the publisher of an end that finds the queue full
// counts it. An event that finds its queue full is lost and counted ([Telemetry.Lost]). The counts
// of conversations that have begun and ended are right all the same; the other metrics and the
// spans lack it.
//
// # Shutdown
//
// [Telemetry.Close] returns when the queued events are counted. It does not shut down the
// providers.
//
// # Concurrency
//
// All methods may be called from any goroutine.
package telemetry
