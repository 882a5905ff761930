// Package membership tells a node which nodes take part in its cluster, and carries small data to all of them.
//
// [Gossip] is for real networks: hashicorp/memberlist, with the rules of this package about names, epochs and events around it. [Model] is for
// simulations: many nodes on one [Network] in virtual time. Both are a [Membership], and one test holds them against each other.
// docs/adr/0022-membership.md says why, and what is guarded against.
//
// Membership is best effort. A member that cannot be reached is believed to be dead after a while; in a partition each side believes that of the other.
// Two nodes of one name are refused where the members can know it: in a partition, both may be let in, one on each side. After it heals,
// each keeps its side and both log it, until one of them ends.
//
// # Ordering
//
// Events come in one order, one at a time; [Event] and [Kind] say which. Deltas of [Membership] may come in any order, or not at all; each
// comes at most once to one process. What a push/pull brings may be older than what has come before.
//
// # Backpressure
//
// No call waits for other nodes but SendBulk, Join, Leave and Stop. Deltas wait in a queue of Options.BroadcastQueue, which drops the oldest of those
// that were sent most often. Events that nobody takes are merged.
//
// # Shutdown
//
// Leave tells the others and stops; Stop only stops. When Stop has returned nil, nothing is delivered any more and the ports are free. A few timers of
// memberlist end by themselves within seconds, without effect.
//
// # Concurrency
//
// All methods may be called at once, also from Options.Notify and from Gossiped. Options.Notify is called by one goroutine, which holds no lock.
// The methods of Gossiped are called by memberlist's goroutines, without its lock.
package membership
