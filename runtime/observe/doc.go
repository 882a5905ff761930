// Package observe records what happens on a node for its operator: the last conversations, their sides and their messages, with masked
// payloads and within bounds of count and memory. A [HealthCounter] counts the health of agents alone.
//
// # Ordering
//
// A [Recorder] takes events in the order of their publication. The messages of a conversation are in the order in which the node
// first saw them.
//
// # Backpressure
//
// A Recorder delays no agent. An event that finds its queue full is lost and counted ([Counts].Lost). What the bounds of [Options]
// push out is counted too.
//
// # Shutdown
//
// [Recorder.Close] returns when all queued events are recorded and the recorder's goroutine has ended. What is recorded stays readable.
//
// # Concurrency
//
// All methods may be called from any goroutine.
package observe
