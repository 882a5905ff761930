// Package api is the operator's HTTP interface of a node: its health, its agents, its conversations
// with their masked messages, live events, and a way to cancel a conversation and to decide an
// approval. docs/api.md describes it. [New] returns it as an [http.Handler].
//
// # Backpressure
//
// A reader of events that stalls loses only its own events, and is told how many. It delays no
// agent.
//
// # Shutdown
//
// A request ends with its context. [Handler.Close] ends the streams of events, so that an
// http.Server can shut down.
//
// # Concurrency
//
// All methods may be called from any goroutine.
package api
