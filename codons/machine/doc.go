// Package machine holds codons as data. A [Table] lists, for each role and state of
// a conversation, the next state and the effects of each event. One table has four
// uses: [Machine] runs it one step at a time, [Monitor] checks a live trace of
// messages against it, [Table.Markdown] renders it as documentation, and package
// verify explores it exhaustively over a network that loses, duplicates and reorders
// messages.
//
// A table is about one initiator and one responder. A [Coordination] binds the
// conversations of one initiator with many responders by rules, which are data too:
// the shell asks it which rule is due.
//
// The package is pure: it has no clock, goroutine, lock, channel, randomness or log.
// Times and ids arrive in events, and the actions of a step leave it as effects. The
// state of a conversation is plain data and every step has one event, so that a
// journal of the events can rebuild it.
//
// # Duties of the shell
//
// The shell is the conversation actor that calls [Machine.Step] and performs the
// effects. It
//
//   - classifies each received message: one with an id that was received before is a
//     [Duplicate]; a reply to an earlier request than the latest of that act is
//     [Stale]; every other message is a [Receive], tagged where its content decides
//     which row applies;
//   - counts the copies of the latest message of each act and passes a refusal of one by
//     the runtime as [Undeliverable], or as [Undelivered] where no copy can have
//     arrived, and never as a reply of the peer. It drops the refusal of a copy of an
//     earlier message;
//   - passes the loss of the peer's destination as [PeerLost], behind all that the
//     peer has delivered, and not after the end;
//   - drops the expiry of a timer that was disarmed or restarted meanwhile;
//   - disarms every timer when a conversation enters a terminal state;
//   - passes every command of a job to the table, also after its Stop;
//   - keeps a tombstone of an ended conversation with its final message for a while,
//     so that the rows of terminal states can send the message again.
package machine
