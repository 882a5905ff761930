// Package observe records the events of a node for its operator: the last conversations, their sides and their messages, with masked
// payloads, and within bounds of number and memory. A [HealthCounter] counts only the health of agents.
//
// # Ordering
//
// A [Recorder] takes events in the order of their publication. The messages of a conversation are in the order in which the node
// first saw them.
//
// # Backpressure
//
// A Recorder delays no agent. An event that finds its queue full is lost and counted ([Counts].Lost). Conversations that the Recorder
// forgets because of the bounds of [Options] are counted too.
//
// # Shutdown
//
// [Recorder.Close] returns when all queued events are recorded and the recorder's goroutine has ended. The records stay readable.
//
// # Concurrency
//
// All methods may be called from any goroutine.
package observe
