// Package machine holds codons as data: a [Table] says, for each role and state
// of a conversation, what an event does. One table is used four times. [Machine]
// runs it one step at a time, [Explore] walks it exhaustively over a network that
// loses, duplicates and reorders, [Monitor] checks a live trace against it, and
// [Table.Markdown] and its siblings render it as documentation.
//
// A table is about one initiator and one responder. A [Coordination] binds the
// conversations of one initiator with many responders by rules, which are data,
// too: the shell asks them what is due, and [ExploreGroup] walks groups of them.
//
// The package is pure: no clock, goroutine, lock, channel, randomness or log.
// Times and ids arrive in events; what is to be done leaves as effects, which the
// conversation actor carries out. A conversation's state is plain data and every
// step an event, so that a journal can be added without touching a table.
//
// # What the shell owes the table
//
// The shell is whoever owns a conversation and carries out its effects. It
//
//   - classifies a message before it becomes an event: an id seen before is a
//     [Duplicate]; an answer to an earlier request than the latest of that act is
//     [Stale]; everything else is a [Receive], tagged where its content decides;
//   - drops the expiry of a timer that was disarmed or armed again meanwhile;
//   - disarms every timer when a conversation enters a terminal state;
//   - passes on what a job says, also when it says so after its Stop;
//   - keeps the final message of an ended conversation for a while, so that the
//     rows of terminal states (its afterlife) can send it again.
package machine
