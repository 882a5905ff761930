// Package codons is the kernel of codons: named protocols between two agents. A codon is a
// table of [machine.Machine], the payloads of its messages and the code that its jobs run.
// The kernel runs each side of a conversation as a supervised actor. The protocol families,
// such as package codons/delegation, are written with what this package exports.
// Package codons/library lists them, and package codons/watch checks that agents keep to
// their tables.
//
// # Define a codon
//
// [Define] makes a [Codon] of a [Definition]: its table, its payloads, its application
// message types ([Messages], [Says]) and its documentation.
//
//   - [standard.Rows] completes a table with the rows that all codons share: CANCEL, retries, the
//     deadline, duplicates, refusals, the loss of the peer and the stop of an agent.
//   - [standard.Exchange] describes a table in which one act is answered by one of a few others.
//   - [machine.Asks] and [machine.Answers] start the rows of the initiator and of the responder.
//
// # Answer a codon
//
// [NewService] makes a [Service]: an [actors.Protocol] for the agents that implement a Go
// interface. It binds each agent to a [Responder], which opens the conversations and runs
// their jobs: [Work] on a goroutine of its own ([Handler]), a [Consideration] on the agent's
// own actor. [AnswerWith] is the responder of an [standard.Exchange].
//
// # Ask
//
// A caller asks on behalf of a [Party]: an agent or a node. [Question] opens a conversation
// that ends with one answer, and [Pending] is its handle. Other initiators embed
// [InitiatorSide]; callers get a [Handle]. An [EndError] says why there is no answer. [Option]
// changes one thing about a conversation. Package codons/group has one party lead many of them.
//
// # Sides and rebuilding
//
// A [Side] is the code of one role of a codon. Its pure part works on a [Value], the plain
// data of a conversation, and an [Input]; its other part acts on the [Conversation]. The
// kernel publishes each step as a [lifecycle.Transition] and each ended conversation as [Recorded].
// [Rebuild] makes the value again of the recorded events. A [Solo] is a conversation without a
// peer, such as a saga.
//
// # Composition
//
// A conversation that is begun with the ctx of a handler is a child of the handler's
// conversation. Its deadline is no later than the parent's, less the deadline reserve
// ([WithDeadlineReserve]). Its budget is leased from the parent's ([WithBudget], [Spend]). It
// is cancelled when that ctx ends, and it has ended before the handler's conversation does.
// So a receipt says that nothing runs any more in the whole tree. [Detach] is for work that
// must go on after ctx has ended.
//
// # Ordering
//
// One side of a conversation handles one event at a time: messages of its peer in their
// order, commands of its handler in theirs. A CANCEL travels in a higher band than its
// request and may overtake it; the job then never starts. The order of one conversation says
// nothing about another.
//
// # Duplicates
//
// A request runs at most once per activation of its receiver until its ReplyBy has passed, however
// often it is sent: also after other conversations of the agent, and after the agent was restarted,
// or stopped and spawned again. A duplicate gets the latest answer while the conversation is open
// or its tombstone keeps the reply, and else FAILURE with [performatives.CodeConversationEnded].
//
// The system remembers the sender and the id of each request: until its ReplyBy, or without one for
// the Deadline of [Times], and for an hour at most ([actors.MaxRequestAge],
// [actors.Options].RequestIDs). It does not remember a request refused as busy before any of the
// agent's code ran: that request may be sent again unchanged. Nor does it remember the request of a
// long-lived conversation after its end.
//
// # Backpressure
//
// An agent runs a bounded number of handlers of one codon at a time ([TaskLimiter],
// [DefaultMaxTasks], which leaves room for some of URGENT and HIGH priority) and refuses further
// requests as busy. These are upper bounds: the node begins handlers as its processors can take
// them, and refuses as busy what it could not begin in time ([actors.Self.Admit]). The refusal
// says when to come again. A handler may have 16 commands that are not handled yet; [Handler.Say]
// blocks while there are more. A conversation keeps the ids of the last 64 messages that it
// received, to recognise duplicates of those that are no requests. A handler may have
// [MaxChildren] conversations under way at a time. An agent keeps the tombstones of its last 256
// ended conversations, and at most 16 KiB of their replies for duplicates. A fresh request under
// the id of an ended conversation opens another.
//
// # Shutdown
//
// A conversation whose agent stops, or whose actor panics, ends in a terminal state of its table
// and tells its peer. The context of a handler ends with [ErrCanceled], [ErrDeadline], [ErrTimer]
// or [ErrEnded]. [actors.System.Stop] waits for the handlers to return. A handler that does not
// return within its grace is published as [events.WorkAbandoned].
//
// # Concurrency
//
// Functions that wait may be called from any goroutine, but not on an agent's own actor.
// Handlers run beside one another. The methods of a [Side] and of a [Value], and those of a
// [Conversation] unless they say otherwise, run on the actor of the conversation. A [Codon]
// and a [Service] never change after they are made.
package codons
