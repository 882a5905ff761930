// Package discovery holds the protocols by which agents learn of each other: the Whispering
// Wind, the handshake, and finding an agent for a task.
//
// # Whispering Wind
//
// [Whisper] asks one agent for its capabilities, [WhisperAll] asks many and ranks the
// answers (acl §4.8, §4.9 and §9). Every agent answers, from its description: no agent code
// runs, and the query costs no budget. A query has no effects, so the initiator that
// withdraws it does not wait for the receipt.
//
// # Handshake
//
// [Handshake] is a query for capabilities that carries those of the asking agent (bridge §1).
// Every agent accepts, unless it is a [HandshakeHandler]. Afterwards each of the two
// agents knows the other ([actors.Self.Knows]). A [HandshakeRequirer] refuses messages of
// agents that it does not know: [HandshakeGuard] decides which.
//
// # Discover and delegate
//
// [FindAndDelegate] asks the agents of a [Directory] for their capabilities, and delegates
// a task to the best of those that match (rossnet §5.2). [DelegateToAny] is its second half.
// [FindTable] says which agent is asked next. It has one role; the queries and the delegations
// are conversations of their own. [InTurn] is for mediators.
//
// # Backpressure
//
// At most 512 queries of one [WhisperAll] are open at a time. A query to an agent with a
// full mailbox is refused as busy, and that agent is no candidate.
//
// # Concurrency
//
// The functions wait for answers: they may be called from any goroutine but an agent's own
// actor.
package discovery
