// Package events is the stream of the events of one node: what its agents, their messages and its
// supervisors have done, for code that observes them. An agent's author needs it only to subscribe.
//
// Every [Event] is a struct type with a [Kind] of its own. A [Stream] numbers the events that are
// published, and each [Subscription] gets those of the kinds that it wants as a [Record], in a
// bounded queue of its own. [Batches] are a faster queue, for subscribers that count. Package
// codons/lifecycle has the events of conversations.
//
// # Ordering
//
// A subscription receives events in the order of their numbers. The events of one goroutine are
// numbered in the order in which it publishes them. Between goroutines the number is the order of
// publication; the time of an event is taken before, so that times may go back a little where
// numbers increase.
//
// # Backpressure
//
// No publisher waits for a subscriber, and no code of a subscriber runs on a publisher's
// goroutine, but for the second function of [OnOrLost]. An event that finds a queue full is lost
// to that subscription and to no other: the older events stay, [Subscription.Lost] counts the new
// one, and its number is missing. A subscription to all kinds has received or lost every number
// between its first and its last event.
//
// # Shutdown
//
// [Subscription.Close] ends a subscription; queued events can still be received. [Handler.Stop]
// waits for the function that handles them.
//
// # Concurrency
//
// [Stream], [Subscription] and [Losses] may be used from any goroutine.
package events
