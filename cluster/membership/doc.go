// Package membership tells a node which nodes take part in its cluster, and carries small data to
// all of them.
//
// [Gossip] is for real networks: hashicorp/memberlist, with this package's rules about names,
// epochs and events. [Model] is for simulations: many nodes on one [Network] in virtual time. Both
// are a [Membership], and one test compares the two. docs/adr/0022-membership.md has the reasons,
// and the faults of memberlist that this package guards against.
//
// Membership is best effort. A member that cannot be reached is believed to be dead after 1.6 s in
// a data centre, and after 10 to 20 s over longer ways: see [Profile]. In a partition, each side
// believes that of the other. The members refuse a second node of a name as far as they know of the
// first one. In a partition, each side may admit one of them. After the partition has healed, each
// node keeps the members of its side, and both log the conflict until one of them ends.
//
// # Ordering
//
// Events come one at a time, in the order that [Event] and [Kind] describe. Deltas of [Membership]
// may come in any order, or not at all; each comes at most once to one process. The state of a
// push/pull may be older than a delta that came before it.
//
// # Backpressure
//
// Only SendBulk, Join, Leave and Stop wait for other nodes. Deltas wait in a queue of
// Options.BroadcastQueue. When it is full, it drops the oldest of the deltas that were sent most
// often. Events that wait for Options.Notify are merged.
//
// # Shutdown
//
// Leave tells the other members and stops; Stop only stops. After Stop has returned nil, nothing is
// delivered and the ports are free. A few timers of memberlist end within seconds after that,
// without effect.
//
// # Concurrency
//
// All methods may be called at once, also from Options.Notify and from Gossiped. Options.Notify is
// called by one goroutine, which holds no lock. The methods of Gossiped are called by memberlist's
// goroutines, without its lock.
package membership
