// Package codons is the library of conversations: each is a table of
// [machine.Machine], two sides that run it as supervised actors, and a typed API.
//
//   - Task delegation ([Delegate], [Worker]): one agent has another perform a task.
//   - Tool call ([CallTool], [ToolAgent]): a delegation of one question and one
//     answer, typed by Go and by JSON Schema.
//   - Request ([Request], [RequestHandler]), and request when ([RequestWhen]): one
//     agent has another do something, now or once a condition is true.
//   - Query ([QueryIf], [QueryRef]): is it true, what is it?
//   - Propose ([Propose]): may I? Approval ([Approve], [Approver]): a step that waits
//     for an agent or a person ([ApprovalQueue]), with escalation and a default.
//   - Handshake ([Handshake]): who are you? An agent may require it
//     ([HandshakeRequirer]).
//   - Whispering Wind ([Whisper], [WhisperAll]): who can do what?
//   - English and Dutch auction ([EnglishAuction], [DutchAuction], [AuctionBidder]): one
//     agent sells to whoever bids most, or first.
//   - Brokering ([AskThrough], [Mediator]): an agent finds others, asks them, and passes
//     on what they answer.
//   - Recruiting ([Recruit], [Mediator], [DeliveryHandler]): an agent finds others, who
//     deliver what came of a task to a designated receiver themselves.
//
// The answering side is an [actors.Protocol] that a node is given; an agent plays
// a role by implementing its interface. The asking side is a function that takes
// a [Party], in whose name it asks. [Library] lists all codons, docs/codons.md
// describes them, and a [Watch] checks that agents keep to them.
//
// # Composition
//
// A conversation that is begun with the ctx of a handler is a child of the
// handler's: its deadline is no later, its budget is leased ([WithBudget], [Spend]), it
// is withdrawn when that ctx ends, and it has ended before the handler's conversation
// does. So a receipt says that nothing runs any more in the whole tree. [Detach] is
// for what must go on all the same.
//
// # Ordering
//
// One side of a conversation handles one event at a time: messages of its peer in
// their order, reports of its handler in theirs. A CANCEL travels in a higher band
// than its request and may overtake it; the task then never starts.
//
// # Backpressure
//
// An agent performs a bounded number of tasks at a time ([Limited]) and rejects
// more as busy. A handler whose reports are not sent fast enough waits in
// [Task.Report]. A conversation remembers the last 64 messages that it received,
// to recognise those that come again, and an agent the answers of its last 256
// conversations, to give them again. A fresh request under the name of one that has
// ended begins another.
//
// # Shutdown
//
// A conversation whose agent stops, or that panics, ends in a state of its table
// and tells its peer. Handlers are told by their context, and joined by
// [actors.System.Stop].
//
// # Concurrency
//
// Functions that wait may be called from any goroutine, but not on an agent's own
// actor. Handlers ([Worker].PerformTask) run beside one another.
package codons
