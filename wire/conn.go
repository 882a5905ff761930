package wire

// Conn is one connection of a transport. One goroutine calls Read and one goroutine calls
// Write. All other methods are safe for concurrent use.
type Conn interface {
	// Read blocks until the next data frame has arrived and returns its payload, which is
	// valid until the next call. Read passes frames of other kinds to control, on the calling
	// goroutine, in the order in which they arrive.
	//
	// The transport enforces [Limits].Frame from the frame's header and [Limits].FrameTime
	// from the frame's first byte to its last. Read returns io.EOF when the peer closed the
	// connection in order, a [*performatives.Refusal] when the peer violated the framing (its
	// code and text may be sent to the peer), and any other error when the connection is
	// lost. Every call after an error returns an error.
	Read(control func(Frame)) ([]byte, error)

	// Write writes frames in order, with as few network writes as possible. It does not
	// retain frames or their data. It fails with [ErrSlow] when the peer does not accept the
	// data within [Limits].FrameTime.
	Write(frames []Frame) error

	// SetLimit sets the largest length of a data frame in bytes, after decompression,
	// beginning with the next frame. The reading goroutine calls it. The initial limit is
	// [Limits].Frame.
	SetLimit(bytes int)

	// Close closes the connection immediately and makes Read and Write return. Further calls
	// have no effect.
	Close() error

	// Peer describes the other end, as far as the transport knows it.
	Peer() Peer
}

// Peer describes the other end of a connection.
type Peer struct {
	Transport string // ws, http, tcp or grpc
	Addr      string // remote address
	Path      string // path of the HTTP request that opened the connection; empty without HTTP
	TLS       bool   // whether the connection is encrypted
}

// DialectConn is a [Conn] whose transport fixes the dialect, so that no frame has to be
// inspected to choose one.
type DialectConn interface {
	Conn
	Dialect() Dialect
}

// CompressConn is a [Conn] that can start to compress after both ends agreed on a method.
type CompressConn interface {
	Conn
	// Compressions returns the supported methods, such as gzip, in order of preference. It
	// may be empty.
	Compressions() []string
	// Compress writes frames as Write does and compresses both directions afterwards. Reading
	// switches to compressed data before the last of frames is written, because the peer may
	// reply to that frame immediately with compressed data.
	Compress(method string, frames []Frame) error
}
