// Package actors is the actor core: it turns a Go type into an agent that lives
// in an actor of its own, takes messages in the order of their priority, is
// supervised, and is told of everything that cannot be delivered.
//
// A [System] runs the agents of one node. [System.Spawn] starts an [Agent] and
// returns its handle, [Self]; a [Protocol] of the codon library makes agents
// answer conversations, each of which is an actor below its agent's.
//
// The engine is protoactor-go's actor package. What it does badly for us is
// replaced ([Mailbox], [Pool], [Supervision], [Ask]) or not offered: messages
// cannot be stashed, because the engine would replay them in reverse and without
// their sender, and there is no ReenterAfter, whose continuations overtake every
// band.
//
// # Ordering
//
// A mailbox has four bands. The engine's own messages come first, then the higher
// band before the lower, but that every waiting band gets at least one of any 64
// messages. Within a band, messages of one sender keep their order. Nothing is
// ordered between bands or between senders.
//
// # Backpressure
//
// Each band is bounded. A message that finds its band full is refused to its
// sender with [performatives.CodeBusy], at once; one that expects no reply is a
// dead letter. Nothing waits for room, and nothing is dropped without being
// counted: a message is delivered to one agent at most once, refused, or
// dead-lettered.
//
// # Shutdown
//
// [System.Stop] lets conversations finish, then stops the agents. What is queued
// for an agent that stops is refused to its senders. Every goroutine of the system
// has ended when Stop returns nil.
//
// # Concurrency
//
// An agent's methods run on its own actor, one at a time. [System], [Self] and
// [Events] may be used from any goroutine; what waits for an agent must not be
// called on that agent's actor.
package actors
