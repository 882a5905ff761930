package wire

// Conn is one connection of a transport. Read is called by one goroutine, Write by
// one other, the rest by any.
type Conn interface {
	// Read returns the next data frame, which is valid until the next Read. What
	// comes before it of other kinds, it gives to control, on the same goroutine.
	//
	// It bounds by itself the length of a frame, from its header, and the time from
	// the first byte of a frame to its last. The error is io.EOF when the peer closed
	// in order, a [*performatives.Refusal] that may be told to the peer when it broke
	// the framing, or any other when the connection is lost. After an error there is
	// nothing more to read.
	Read(control func(Frame)) ([]byte, error)

	// Write writes frames in order, in as few writes to the network as it can. It
	// keeps nothing of them, and fails when the peer does not take them in time.
	Write(frames []Frame) error

	// SetLimit sets how many bytes a frame may have, after decompression, from the next
	// on. It is called by the goroutine that reads; [Limits].Frame holds before.
	SetLimit(bytes int)

	// Close closes the connection at once, and ends Read and Write. Closing again is
	// harmless.
	Close() error

	// Peer says who is at the other end, as far as the transport knows.
	Peer() Peer
}

// Peer is what a transport knows of the other end.
type Peer struct {
	Transport string // ws, tcp or grpc
	Addr      string // the remote address
	Path      string // of the request that began it; empty without HTTP
	TLS       bool   // the connection is encrypted
}

// Speaking is a [Conn] whose frames have one language only.
type Speaking interface {
	Conn
	Dialect() Dialect
}

// Compressing is a [Conn] that compresses once both ends have agreed to.
type Compressing interface {
	Conn
	// Compressions returns the methods that can be agreed on, such as gzip, the
	// preferred first. It may be empty.
	Compressions() []string
	// Compress writes frames as Write does, and compresses from then on, in both
	// directions. What is read is taken to be compressed before the last frame is
	// written, since the peer may answer that at once.
	Compress(method string, frames []Frame) error
}
