// Package wire is the transport-free core of the outside world: what a
// connection to an agent, a gateway, a command line or another node has in common,
// whatever carries it and whatever language it speaks.
//
// A transport ([Conn]: packages ws, tcp and grpc) moves frames. A dialect
// ([Dialect]: packages acl, gateway and their siblings) makes messages of frames
// and frames of messages. A [Session] has one of each, and does the rest: limits,
// authentication, authorization, rate limits, protection against replay, keep-alive
// and an orderly end. What it lets through goes to a [Handler].
//
//	server, err := wire.NewServer(wire.Options{Handler: h, Dialects: …, Anonymous: true})
//	listener, err := tcp.Listen(server, tcp.Options{Addr: "127.0.0.1:8444"})
//	…
//	err = server.Stop(ctx)
//
// # Ordering
//
// A session hands what it receives to its handler one message at a time, in the
// order in which it came. What is sent travels in order within a band; a higher
// band overtakes a lower one that waits, which gets its share of each write all the same.
//
// # Backpressure
//
// What a session has to send waits in a bounded outbox. When that is full, a message
// is refused to its sender or the peer is disconnected, as [Options.Full] says;
// nobody waits. A peer that sends faster than its answers can be written, or that
// goes on although it is over its rate, is read more slowly: its own connection
// stalls, and no other.
//
// # Shutdown
//
// [Server.Stop] takes on no connection more, tells each peer that it closes, gives
// what is queued time to go out, and joins every goroutine.
//
// # Concurrency
//
// Everything exported may be used from any goroutine, unless it says otherwise.
package wire
