package tcp

import "sync"

// The sizes of buffers in bytes. An idle connection has a small one.
const (
	smallBuffer = 4 << 10
	busyBuffer  = 64 << 10
)

// busyBuffers is shared by all connections, so that a burst needs no allocation and an idle
// connection keeps no large buffer.
var busyBuffers = sync.Pool{New: func() any { return new([busyBuffer]byte) }}

// buffer holds received and unread bytes: b[r:w].
type buffer struct {
	b        []byte
	r, w     int
	small    []byte            // equals b when the connection is not busy
	busy     *[busyBuffer]byte // underlies b when the connection is busy; else nil
	lastRead int               // bytes of the last read
	filledUp bool              // the last read filled the buffer
}

func newBuffer() *buffer {
	small := make([]byte, smallBuffer)
	return &buffer{b: small, small: small}
}

func (b *buffer) bytes() []byte { return b.b[b.r:b.w] }
func (b *buffer) len() int      { return b.w - b.r }

// next removes and returns the first n bytes. They are valid until the next call of free.
func (b *buffer) next(n int) []byte {
	p := b.b[b.r : b.r+n : b.r+n]
	b.r += n
	return p
}

// free returns the free part of the buffer, at least one byte. It grows the buffer to at most
// twice the received bytes or busyBuffer, whichever is larger. Above busyBuffer, most bounds
// the length.
func (b *buffer) free(most int) []byte {
	if b.r == b.w {
		b.r, b.w = 0, 0
	}
	if b.w == len(b.b) || b.filledUp && len(b.b) == smallBuffer {
		b.makeRoom(most)
	}
	return b.b[b.w:]
}

// filled records that n bytes were written to the slice that free returned.
func (b *buffer) filled(n int) {
	b.lastRead, b.filledUp = n, b.w+n == len(b.b)
	b.w += n
}

// makeRoom moves the unread bytes to the front, of a larger buffer if this one is full.
func (b *buffer) makeRoom(most int) {
	switch {
	case len(b.b) < busyBuffer && (b.filledUp || b.r == 0):
		b.busy = busyBuffers.Get().(*[busyBuffer]byte)
		b.w, b.r = copy(b.busy[:], b.bytes()), 0
		b.b = b.busy[:]
	case b.r > 0:
		b.w, b.r = copy(b.b, b.bytes()), 0
	default:
		longer := make([]byte, max(len(b.b)+1, min(2*len(b.b), most)))
		b.w = copy(longer, b.bytes())
		b.release()
		b.b = longer
	}
}

// shrink returns to the small buffer when the unread bytes fit into it: always from a buffer
// allocated for one long frame, and from the busy one when the last read was small.
func (b *buffer) shrink() {
	switch {
	case len(b.b) <= smallBuffer, b.len() > smallBuffer, len(b.b) == busyBuffer && b.lastRead > smallBuffer:
		return
	}
	b.w, b.r = copy(b.small, b.bytes()), 0
	b.release()
	b.b = b.small
}

func (b *buffer) release() {
	if b.busy != nil {
		busyBuffers.Put(b.busy)
		b.busy = nil
	}
}
