// Package link carries messages between two nodes of a cluster, over any network, with one stream
// for each pair of nodes.
//
// [Link] is one end of a link as a pure state machine. A message waits in one of four bands, and
// gets its number when it is sent for the first time, so that an urgent message overtakes all
// waiting ones. Until the peer has acknowledged a message, the link sends it again over each new
// stream; the peer drops duplicates by their numbers. So each message arrives once, and those of
// one band arrive in order, as long as both ends know each other. When one end was restarted, or
// has given the other one up, the session is over: unacknowledged messages are returned to the
// sender, and never sent again.
//
// [Links] are the links of one node over real streams: they dial, accept, read and write.
//
// An acknowledgement goes along with the next frame, if there is one within a millisecond, and
// alone otherwise or when a quarter of the window was received.
//
// # Opening a stream
//
// The node whose name is smaller opens the streams. The first frame in each direction is a hello:
// the incarnation of the node, the sessions and numbers that it knows, the versions of the form of
// frames, and the hashes of its codons. No other frame passes before.
//
// # Closing
//
// A stopping node waits until its peer has acknowledged all messages. Then it tells the peer that
// it takes nothing more in ([Link.Finish]), and sends the queued messages. It waits until the peer
// has acknowledged that and ended the stream. So the peer has read the last acknowledgement and has
// the answers to all acknowledged messages, unless the stream breaks, the context ends first, or
// the peer is silent for five seconds, and ten more for each MiB that it has not acknowledged. See
// [Links.Stop].
//
// # Simulations
//
// A simulation drives each [Link] itself. It calls [Link.Open] at both ends, passes the frames of
// [Link.Next] to [Link.Receive] of the other end, in order and after any delay, and calls
// [Link.Close] at both ends when the stream breaks. It calls Next again after each Send and each
// Receive, after [Link.Finish], and after [Link.Acknowledge] if it sets [Options].DelayAcks.
// [Link.End] is the loss of the other node.
//
// # Limits
//
// The waiting messages of each band are bounded in number, and those of all bands together in
// bytes; a message beyond these bounds is refused as busy. The messages that are sent and not
// acknowledged are bounded in bytes. A frame with more than one message has at most [Options].Batch
// bytes of messages.
//
// # Concurrency
//
// A [Link] is used by one goroutine at a time. All methods of [Links] may be called from any
// goroutine.
package link
