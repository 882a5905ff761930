// Package tcp carries sessions over TCP: the binary protocol of wire, "TCP/Binary
// Protocol", in the three forms of addenda §5.
//
//	listener, err := tcp.Listen(server, tcp.Options{Addr: "127.0.0.1:8444"})
//	…
//	err = server.Stop(ctx)   // each peer is told, and who comes is turned away
//	err = listener.Stop(ctx) // nobody listens any more
//
// and on the other side
//
//	conn, err := tcp.Dial(ctx, "tcps://node.example.com:8444", tcp.DialOptions{})
//	session, err := wire.Connect(conn, wire.Options{…})
//
// # Forms
//
// A frame is a header and a payload. A connection begins with headers of 7 bytes:
//
//	4D 43 | type u8 | length u32
//
// Once both ends have agreed on gzip ([wire.Compressing]), they have 8, of which bit 0
// of the flags says that the payload is compressed:
//
//	4D 43 | type u8 | flags u8 | length u32
//
// The frame after the answer that agrees is the first of them, both ways. A client that
// asks for gzip sends nothing more until it has the answer: what is under way then cannot
// be told from what comes after it.
//
// A payload under 512 bytes, or one that gzip does not make shorter, travels as it is.
// A server also takes the versioned form of 16 bytes, which it tells from the others by
// the first four:
//
//	4D 43 50 00 | version u16 | type u16 | reserved u32 | length u32
//
// All numbers are big-endian, and a length is that of the payload as it travels.
//
// # The versioned form
//
// A peer proposes its versions (type 6) and gets the one that is spoken here (type 7),
// or an error (type 5, plain text) and the end. One that does not ask is served too.
// The form has neither a pong nor a closing frame:
//
//   - A health check (type 4) is both a ping and its answer. It is an answer when a
//     ping of ours is out, and else a ping. So two ends that ask each other at the same
//     time are both content, and no health check is answered for ever.
//   - Who says nothing more closes its direction of the connection. The end of what
//     the peer sends is its CLOSE, when it comes between two frames.
//
// Requests, responses and control messages (types 1, 2 and 3) are all data. What is
// written is a request when its mcp_payload has a method, and a response when that has
// a result or an error, since clients in the field tell by the type whether to look for
// the request that a frame answers. Of a frame that is neither, from a dialect without
// mcp_payload, the type is a response from a server and a request from a client.
//
// # What a peer can cost
//
// The length of a frame is checked against the limit when its header is there, before
// anything is allocated, and memory for it grows with the bytes that come. What is
// decompressed is bounded by the same limit, and what is not data by 64 KiB. A frame has
// [wire.Limits].FrameTime from its first byte to its last, and so has what a session writes
// at a time, also when the peer goes on reading a little; an
// idle connection has all the time that [wire.KeepAlive] gives it, and a buffer of 4 KiB.
// A busy one has 64 KiB until a read brings little again; a longer frame's buffer goes
// with the frame.
//
// # Concurrency
//
// A [Listener] may be used from any goroutine; a connection as [wire.Conn] says.
package tcp
