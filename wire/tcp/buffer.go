package tcp

import "sync"

// The sizes of buffers. An idle connection has a small one.
const (
	smallBuffer = 4 << 10
	busyBuffer  = 64 << 10
)

// busyBuffers are shared by all connections, so that a burst costs no allocation and an
// idle connection keeps nothing of it.
var busyBuffers = sync.Pool{New: func() any { return new([busyBuffer]byte) }}

// buffer holds what has been received and not been used: b[r:w].
type buffer struct {
	b     []byte
	r, w  int
	small []byte            // b, when the connection is not busy
	busy  *[busyBuffer]byte // b, when it is; nil when not
	last  int               // how much the last read brought
	more  bool              // it had no room for more
}

func newBuffer() *buffer {
	small := make([]byte, smallBuffer)
	return &buffer{b: small, small: small}
}

func (b *buffer) bytes() []byte { return b.b[b.r:b.w] }
func (b *buffer) len() int      { return b.w - b.r }

// next takes the first n bytes out. They are valid until there is room made.
func (b *buffer) next(n int) []byte {
	p := b.b[b.r : b.r+n : b.r+n]
	b.r += n
	return p
}

// free returns where more can be put, at least a byte. It makes room in a way that the
// buffer is never more than twice as long as what has come, or than busyBuffer.
// most is how long it has to be at most.
func (b *buffer) free(most int) []byte {
	if b.r == b.w {
		b.r, b.w = 0, 0
	}
	if b.w == len(b.b) || b.more && len(b.b) == smallBuffer {
		b.makeRoom(most)
	}
	return b.b[b.w:]
}

// filled says that n bytes have come to where free said.
func (b *buffer) filled(n int) {
	b.last, b.more = n, b.w+n == len(b.b)
	b.w += n
}

// makeRoom moves what there is to the front, of a longer buffer when this one is full.
func (b *buffer) makeRoom(most int) {
	switch {
	case len(b.b) < busyBuffer && (b.more || b.r == 0):
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

// shrink goes back to the small buffer, when what is left fits in it: from one that a
// single frame needed in any case, from the busy one when little comes.
func (b *buffer) shrink() {
	switch {
	case len(b.b) <= smallBuffer, b.len() > smallBuffer, len(b.b) == busyBuffer && b.last > smallBuffer:
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
