// Package grpc is the gRPC transport: a bidirectional stream of protobuf envelopes, as
// ribosome.proto in package ribosomev1 describes it. Agents in any language may use it,
// and nodes do.
//
//	listener, err := grpc.Listen(server, grpc.Options{Addr: "127.0.0.1:8445"})
//	…
//	err = server.Stop(ctx)   // each peer is told, and who comes is turned away
//	err = listener.Stop(ctx) // nobody listens any more
//
// and on the other side
//
//	conn, err := grpc.Dial(ctx, "grpc://127.0.0.1:8445", grpc.DialOptions{})
//	session, err := wire.Connect(conn, wire.Options{Handler: h})
//
// A stream is a [wire.Conn], whose language is [Dialect]: options need not name it.
// Serialized protobuf messages may be concatenated, so a message of ours is encoded once, as
// the bytes of a Frame that holds it alone, and a write is one gRPC message made of as
// many as are queued. Peers that use generated code see frames with many envelopes.
//
// # Ordering
//
// Within a stream, what was sent arrives in order. Streams are independent of each
// other, also those of one HTTP/2 connection.
//
// # Backpressure
//
// A stream that is not read blocks its own writer and nothing else (HTTP/2 flow
// control), until [wire.Limits].FrameTime ends it.
//
// # Limits
//
// gRPC bounds what it receives by one number for a whole server, so a message may be
// as long as [wire.Limits].Frame, or 1 MiB if that is more, whoever sends it; it is
// held only as far as it has come. The length of each envelope in it is checked
// against the limit of its stream. gRPC does not tell when a message begins to
// arrive, so one that comes too slowly is noticed by the session's keep-alive, which
// hears of whole messages only. Compressed messages are refused, unless the program
// imports google.golang.org/grpc/encoding/gzip, which counts for all of its gRPC; they are
// then bounded after decompression.
//
// There are at most [wire.Options].MaxConnections HTTP/2 connections, and as many streams
// in all. A connection without a stream has some 48 KiB, and is sent away after AuthTime:
// in it, a peer has to shake hands, to call and to authenticate. What a session writes at
// a time, the peer has to take within FrameTime, also one that goes on reading a little.
//
// # Shutdown
//
// [Listener.Stop] takes on no stream more and waits for those there are: stop the
// [wire.Server] before, or at the same time. The last frames of a client reach the
// server even when it closes its stream at once.
//
// # Concurrency
//
// Everything exported may be used from any goroutine, but for what [wire.Conn] says.
package grpc
