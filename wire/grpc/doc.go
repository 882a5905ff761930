// Package grpc is the gRPC transport: a bidirectional stream of protobuf envelopes, as
// ribosome.proto in package ribosomev1 describes it. It serves agents in any language, and
// the links between nodes.
//
//	listener, err := grpc.Listen(server, grpc.Options{Addr: "127.0.0.1:8445"})
//	…
//	err = server.Stop(ctx)   // ends the sessions, and refuses new ones
//	err = listener.Stop(ctx) // closes the port
//
// and on the other side
//
//	conn, err := grpc.Dial(ctx, "grpc://127.0.0.1:8445", grpc.DialOptions{})
//	session, err := wire.Connect(conn, wire.Options{Handler: h})
//
// A stream is a [wire.Conn] with the dialect [Dialect]: options need not name it.
// Serialized protobuf messages may be concatenated. So each message is encoded once, as the
// bytes of a Frame with one envelope, and a write concatenates all queued frames to one
// gRPC message. Peers with generated code see frames with many envelopes.
//
// The codec of envelopes is written by hand, and tested against one of generated code with the same
// isolation: an error in an envelope does not affect the others. BenchmarkCodec compares both. By
// hand, writing is 1.5 to 2.6 times as fast, and reading 1.2 to 1.65 times; the codec
// becomes generated code when both fall below 1.3.
//
// # Health and reflection
//
// A [Listener] also answers grpc.health.v1.Health, for the names "" and ribosome.v1.Wire:
// SERVING while it accepts streams, and NOT_SERVING from the moment when its Stop, or the
// Stop of the [wire.Server], begins. Reflection (grpc.reflection.v1 and v1alpha) shows the
// services and ribosome.proto.
//
//	grpc_health_probe -addr 127.0.0.1:8445
//	grpcurl -plaintext 127.0.0.1:8445 list
//
// None of these calls needs credentials: the probes of Kubernetes and of load balancers send
// none, and the schema is published. They have the limits of all calls, and these: a call
// ends after [wire.Options].AuthTime, except for a Watch of the health; the calls of Watch
// take at most a quarter of MaxConnections, so that they leave connections for sessions.
// [Register] adds neither: a server of the program's own has its own.
//
// # Ordering
//
// Within a stream, messages arrive in the order in which they were sent. Streams are independent of
// each other, also those of one HTTP/2 connection.
//
// # Backpressure
//
// A stream that the peer does not read blocks its own writer only (HTTP/2 flow control),
// until [wire.Limits].FrameTime ends it.
//
// # Limits
//
// gRPC has one limit of message length for a whole server. So a message of every peer may
// have [wire.Limits].Frame bytes, or 1 MiB if that is more; only its received part takes
// memory. The length of each envelope in it is checked against the limit of its stream.
// gRPC does not report the begin of a message. A message that arrives too slowly is
// therefore found by the session's keep-alive, which counts whole messages only. Compressed
// messages are refused, unless the program imports google.golang.org/grpc/encoding/gzip,
// which affects all of its gRPC; their length is then bounded after decompression.
//
// There are at most [wire.Options].MaxConnections HTTP/2 connections, and as many streams
// in all. A connection without a stream takes about 48 KiB. It is closed after AuthTime, in
// which a peer must finish the handshake, call and authenticate. The peer must read one
// write of a session within FrameTime; a peer that reads slowly is not exempt.
//
// # Shutdown
//
// [Listener.Stop] accepts no further stream, and waits for the end of the open ones: stop
// the [wire.Server] before it, or at the same time. The last frames of a client reach the
// server even if the client closes its stream at once.
//
// # Concurrency
//
// All exported methods may be called from any goroutine, within the rules of [wire.Conn].
package grpc
