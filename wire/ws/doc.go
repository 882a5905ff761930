// Package ws carries sessions over WebSocket (RFC 6455): one message of a dialect is one
// text frame, keep-alive is the protocol's own ping and pong, and what has to be said
// before a session begins is an HTTP answer.
//
//	server, err := wire.NewServer(wire.Options{…})
//	listener, err := ws.Listen(server, ws.Options{Addr: "127.0.0.1:8443"})
//	…
//	err = server.Stop(ctx)   // each peer is told, and who comes is turned away
//	err = listener.Stop(ctx) // nobody listens any more
//
// and on the other side
//
//	conn, err := ws.Dial(ctx, "ws://127.0.0.1:8443/mcp", ws.DialOptions{Token: "…"})
//	session, err := wire.Connect(conn, wire.Options{…})
//
// gorilla/websocket shakes hands and reads. Frames are written by this package: all that
// a session has to say at a time goes out in one write, and gorilla, which closes
// connections by itself when it reads something wrong, has no say in when and how one
// ends.
//
// # Ordering
//
// Frames arrive in the order in which they were written. Text and binary messages are
// the same to a session; it writes text.
//
// # Backpressure
//
// What a session has to write at a time, the peer has to take within
// [wire.Limits].FrameTime, also one that goes on reading a little; and a message that takes
// longer than that to arrive ends the session. A message is refused by the
// length that its frame announces; one that is compressed, by the length that it turns
// out to have. A connection that is idle holds one read buffer of 1 KiB and nothing to
// write with.
//
// # Shutdown
//
// [Listener.Stop] ends what has not become a session; sessions end by [wire.Server.Stop].
// A session that ends in order says so by a close frame: 1000 from the client, 1001 from
// the server, the peer's own code in answer to its close. One that gives up says 1002
// (the framing is broken), 1007 (the data is), 1008 (who asks may not, or too often), 1009
// (too long), 1013 (busy) or 1011, and the reason is the error's code of wire's Standard
// Error Codes, a colon and a text.
//
// # Concurrency
//
// Everything exported may be used from any goroutine, except that a connection has one
// reader and one writer.
package ws
