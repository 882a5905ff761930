// Package audit writes the audit trail of a node: the requests of agents to one another and their
// outcomes, the refusals, and the actions of operators. The trail consists of JSON lines in files
// that are rotated and kept for a configured time (rag, Data Privacy).
//
// # Format
//
// Each line is the JSON form of an [events.Record]: "kind", "seq", "time" in UTC, and the members
// of its event. Events hold no payload and no credential. A message has its principal, the name
// that its sender has authenticated as, and its "traceparent". The trail has the events of [Kinds].
// Of the sent messages, it has questions (such as requests and CANCEL) and answers (such as
// verdicts and results). The trail adds lines of its own: "audit.opened", with the name of the node
// and the kinds, "audit.lost", with the number of events that are missing before the line, and
// "audit.alive" after a day without any other.
//
// # Backpressure
//
// A [Trail] delays no agent. Events that find its queue full are lost, and counted in the trail
// itself.
//
// # Shutdown
//
// [Trail.Close] writes the events that are queued and closes the file.
//
// # Concurrency
//
// All methods may be called from any goroutine. Only one process may write a file.
package audit
