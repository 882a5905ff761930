// Package actors is the actor core. It runs a Go type as an agent: an actor of its own
// with a bounded mailbox of four priority bands, supervision, and a report for each
// message that cannot be delivered.
//
// A [System] runs the agents of one node. [System.Spawn] starts an [Agent] and returns
// its handle, [Self]. A [Protocol] of the codon library lets agents answer conversations.
// Each conversation is an actor of its own, a [ConversationActor], that its agent
// supervises.
//
// The engine is the actor package of protoactor-go. Four of its parts are replaced: the
// mailbox ([Mailbox]), the dispatcher ([Pool]), the supervisor strategy ([Supervision])
// and the request future ([Ask]). Two are not offered. Stash replays messages in reverse
// order and without their sender. ReenterAfter runs continuations ahead of every band.
//
// # Ordering
//
// A mailbox has four bands. System messages of the engine are served before all bands, and a higher
// band before a lower one. But of any 64 messages served while a band is not empty, at least one is
// from that band. Within a band, messages of one sender keep their order. There is no order between
// bands or between senders.
//
// Package actors/events has the stream of the events of a system, and their order.
//
// # Backpressure
//
// Each band is bounded. When a band is full, the mailbox refuses further messages for it at once. A
// message with an InReplyTo has more room: one more message per band for each conversation of the
// agent. So all of them can be answered or cancelled at once. The sender of a message that expects
// a reply gets a refusal with [performatives.CodeBusy]. A message that expects no reply becomes a
// dead letter. No sender blocks.
//
// Invariant: each message is delivered to one agent at most once, or refused, or
// dead-lettered, and is counted as such.
//
// A system remembers the ids of the requests that its agents have taken on, so that none opens a
// conversation twice: see package codons. When there is no room for a further one
// ([Options].RequestIDs), it is refused with [performatives.CodeBusy].
//
// An event that finds the queue of a subscription full is lost to it ([events.Subscription.Lost]).
// State that must not miss a change is kept by [Options].OnChange and [Self.AfterStop], which lose
// nothing.
//
// # Loss of a peer
//
// An agent of another process has a destination: a session or a link to a node. When that is lost,
// [System.LosePeers] or, for a node, [Loss.Lose] tells the conversations with the agent. Each
// learns it behind all that the agent has sent, and the table of its codon says how it ends. A call
// of [Self.Ask] with a deadline to an agent of another node gets FAILURE in that agent's name. Of
// other calls to other processes, and of those that pass through this process, package
// runtime keeps a record and answers the asker.
//
// While an agent of this process starts or moves, a [Reservation] queues the messages for its id.
//
// # Shutdown
//
// [System.Stop] lets conversations finish and then stops the agents. An agent stops or
// restarts after the last turn of its last conversation. Messages still queued for a
// stopped agent are refused to their senders. When Stop returns nil, every
// goroutine of the system has ended. A stop that takes longer than a second logs what it
// waits for.
//
// # Concurrency
//
// An agent's methods run on its own actor, one at a time. [System], [Self] and [events.Stream]
// may be used from any goroutine. A method that waits for an agent must not be called on
// that agent's actor. Where it gets the ctx of the code there, it returns [ErrSelfWait]. An
// agent whose actor does not come back for [BusyTime] is logged and counted.
package actors
