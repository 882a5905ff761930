// Package observe records the events of a node for its operator: the last conversations, their
// sides and their messages, with masked payloads, and within bounds of number and memory. A
// [HealthCounter] counts only the health of agents.
//
// # Ordering
//
// A [Recorder] takes events in the order of their publication. The messages of a conversation are
// in the order in which the node first saw them.
//
// # Backpressure
//
// A Recorder delays no agent. An event that finds its queue full is lost and counted
// ([Counts].Lost). A side whose end is lost is no more in the views once it is not under way, and
// the rates lack it; a message that is lost is not in its conversation. Conversations that the
// Recorder forgets because of the bounds of [Options] are counted too.
//
// # Shutdown
//
// [Recorder.Close] returns when all queued events are recorded and the recorder's goroutine has
// ended. The records stay readable.
//
// # Concurrency
//
// All methods may be called from any goroutine.
package observe
