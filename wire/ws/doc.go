// Package ws is the WebSocket transport (RFC 6455). A message of a dialect is one text frame,
// keep-alive uses the protocol's ping and pong frames, and a refusal before the session
// starts is an HTTP answer.
//
//	server, err := wire.NewServer(wire.Options{…})
//	listener, err := ws.Listen(server, ws.Options{Addr: "127.0.0.1:8443"})
//	…
//	err = server.Stop(ctx)   // closes each session and refuses new ones
//	err = listener.Stop(ctx) // closes the port
//
// The client side:
//
//	conn, err := ws.Dial(ctx, "ws://127.0.0.1:8443/mcp", ws.DialOptions{Token: "…"})
//	session, err := wire.Connect(conn, wire.Options{…})
//
// gorilla/websocket performs the handshake and reads. This package writes the frames itself,
// for two reasons: all queued frames go out in one network write, and gorilla cannot close
// the connection on its own after a protocol error, so that the session controls when and how
// it ends. The listener also refuses what gorilla accepts against the RFCs: RSV1 on control and
// continuation frames, and a close frame with one byte. docs/websocket.md lists the cases that
// are tested.
//
// With [Options].Posts, the listener also serves clients without WebSocket: a POST for each
// message, and a stream of events for the answers.
//
// # Ordering
//
// Frames arrive in the order in which they were written. Text and binary messages are
// equivalent for a session, which writes text.
//
// # Backpressure
//
// A peer must accept each write completely within [wire.Limits].FrameTime, also when it
// continues to read slowly. A message that takes longer to arrive ends the session. A message
// over the limit is refused by the length in its frame header, a compressed one by its
// decompressed length. An idle connection holds one read buffer of 1 KiB and no write buffer.
//
// # Shutdown
//
// [Listener.Stop] closes connections without a session. [wire.Server.Stop] ends the sessions.
// A session that ends in order sends a close frame: code 1000 from the client, 1001 from the
// server, the peer's code in answer to its close frame, whatever the code (1000 if it has
// none). A session that ends with an error
// sends 1002 (invalid framing), 1007 (invalid data), 1008 (forbidden or rate-limited), 1009
// (message too long), 1013 (busy) or 1011 (other). The reason is an error code of the wire
// specification, a colon and a text.
//
// # Concurrency
//
// All exported functions and methods are safe for concurrent use, except that a connection
// has one reader and one writer.
package ws
