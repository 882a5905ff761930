// Package tcp is the TCP transport: the binary protocol of the wire specification
// ("TCP/Binary Protocol") in the three forms of addenda §5.
//
//	listener, err := tcp.Listen(server, tcp.Options{Addr: "127.0.0.1:8444"})
//	…
//	err = server.Stop(ctx)   // closes each session and refuses new ones
//	err = listener.Stop(ctx) // closes the port
//
// The client side:
//
//	conn, err := tcp.Dial(ctx, "tcps://node.example.com:8444", tcp.DialOptions{})
//	session, err := wire.Connect(conn, wire.Options{…})
//
// # Forms
//
// A frame is a header and a payload. A connection starts with 7-byte headers (plain form):
//
//	4D 43 | type u8 | length u32
//
// After both ends have agreed on gzip ([wire.CompressConn]), headers have 8 bytes (flagged
// form). Bit 0 of the flags marks a compressed payload:
//
//	4D 43 | type u8 | flags u8 | length u32
//
// In both directions, the first frame after the agreeing answer is the first one with 8
// bytes. A client that offers gzip sends nothing until it has the answer, because frames in
// flight could not be distinguished from later ones. Payloads under 512 bytes, and payloads
// that gzip does not shorten, are sent uncompressed.
//
// A server also accepts 16-byte headers (versioned form), which it recognizes by the first
// four bytes:
//
//	4D 43 50 00 | version u16 | type u16 | reserved u32 | length u32
//
// All numbers are big-endian. A length counts the payload as transmitted. A header with another
// version than 1, or with reserved bits, is refused.
//
// # The versioned form
//
// A peer proposes its versions (type 6). The answer is the supported version (type 7), or an
// error (type 5, plain text) followed by the end of the connection. A peer may omit the
// proposal. The form has neither a pong nor a close frame:
//
//   - A health check (type 4) is a pong if this end waits for one, else a ping. Thus two ends that
//     ping each other simultaneously both receive a pong, and health checks are not answered
//     endlessly.
//   - An end closes its direction of the TCP connection instead of sending CLOSE. The end of the
//     stream between two frames is the peer's CLOSE.
//
// Requests, responses and control messages (types 1, 2 and 3) are all data. A written frame
// has the type request if its mcp_payload has a method, and response if it has a result or an
// error, because existing clients use the type to find the pending request. If mcp_payload
// has none of these or is missing, a server writes responses and a client writes requests.
//
// # Backpressure
//
// The length of a frame is checked against the limit when its header has arrived, before
// memory is allocated. Memory for a frame grows with the bytes that arrive. The limit also
// applies to decompressed data. Payloads that are not data have at most 64 KiB. A frame must
// arrive, and a write must be accepted, completely within [wire.Limits].FrameTime, also when
// the peer continues slowly. An idle connection has a buffer of 4 KiB and no deadline except
// [wire.KeepAlive]. A busy connection has a buffer of 64 KiB until a read returns little
// data. The buffer for a longer frame is released with the frame.
//
// # Concurrency
//
// A [Listener] is safe for concurrent use. For a connection see [wire.Conn].
package tcp
