// Package lifecycle has the events of conversations and of their jobs, as package codons publishes
// them on the stream of a node ([events.Stream]): for code that observes conversations.
//
// [Began] and [Ended] are the life of one side of a conversation, a [Subject]; [Transition] is each
// of its steps; [JobEnded] and [JobFailed] are about the code of its jobs. A [Span] is the place of
// a side or a job in a distributed trace. The records of a conversation, from which it can be built
// again, are in package codons.
//
// Published values are not to be changed.
package lifecycle
