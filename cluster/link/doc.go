// Package link carries messages between two nodes of a cluster: one stream for each pair, over whatever network.
//
// [Link] is one end of it as a pure state machine. What is sent goes through four bands and gets its number when it is sent
// for the first time, so that an urgent message overtakes all that still waits. It is sent again over the next stream until the
// peer has acknowledged it, and the peer drops what it knows. So messages arrive once, and those of one band in order, as
// long as both ends know each other. When they do not any more, because either end has been restarted or has given the other up, the
// session is over: what was not acknowledged is returned to the sender, and never sent again.
//
// [Links] are the links of one node over real streams: it dials, accepts, reads and writes.
//
// # Who calls
//
// The node whose name is smaller opens the streams. Both ends say hello: their incarnations, the sessions and numbers that they
// know, the versions of the form of frames, and the hashes of their codons. Nothing else passes before.
//
// # Simulations
//
// A simulation drives Links itself: after [Link.Open] at both ends it passes what [Link.Next] returns to the other end's
// [Link.Receive], as late as it wants and in order, and calls [Link.Close] at both ends when the stream breaks.
// Next is called again after each Send and each Receive. [Link.End] is the loss of the other node.
//
// # Limits
//
// The messages that wait are bounded in number by band, and in bytes; what is more is refused as busy. What may be sent without
// acknowledgement is bounded in bytes. A frame with more than one message has at most [Options].Batch bytes of them.
//
// # Concurrency
//
// A [Link] is used by one goroutine at a time. All methods of [Links] may be called from any goroutine.
package link
