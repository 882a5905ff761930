// Package wire implements sessions with external peers: agents, gateways, command lines and
// other nodes. It is independent of transport and dialect.
//
// A transport ([Conn]: packages ws, tcp and grpc) moves frames. A dialect ([Dialect]: packages acl,
// gateway and others) converts between frames and messages. Failures and refusals become its own
// words in two places: Encode of its [Codec] writes a message that says no, and Refuse answers a
// frame that is not served. The [Words] of a dialect, its ErrorCodes, pair our codes with its own;
// acl and package grpc write our codes. What they are written from is made for all of them by
// [performatives.Refusal], [RefusalOf] and [AsRefusal]. A [Session] has one of each and implements
// limits, authentication, authorization, rate limits, replay protection, keep-alive and an orderly
// end. Accepted messages go to a [Handler].
//
//	server, err := wire.NewServer(wire.Options{Handler: h, Dialects: …, Anonymous: true})
//	listener, err := tcp.Listen(server, tcp.Options{Addr: "127.0.0.1:8444"})
//	…
//	err = server.Stop(ctx)
//
// # Ordering
//
// A session passes received messages to its handler one at a time, in the order of their
// arrival. Sent messages keep their order within a priority band. A higher band overtakes a
// lower one, but each write reserves a share for every band.
//
// # Backpressure
//
// A session queues outgoing messages in a bounded outbox. When the outbox is full, a message is
// refused to its sender. Senders never block. A session reads more slowly from a peer that does not
// read its answers or that continues to send over its rate. This slows down only the peer's own
// connection.
//
// # Shutdown
//
// [Server.Stop] refuses new connections, sends each peer a close frame, writes the queued
// messages within [Limits].CloseTime, and joins every goroutine.
//
// # Concurrency
//
// All exported functions and methods are safe for concurrent use unless their documentation
// says otherwise.
package wire
