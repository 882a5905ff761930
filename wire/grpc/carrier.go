package grpc

import (
	"slices"
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/emptypb"
)

// carrier is a protobuf message without fields that transports the bytes of a Frame. All
// its content is unknown fields, which every codec for protobuf reads and writes
// unchanged.
type carrier struct{ emptypb.Empty }

func (c *carrier) set(b []byte) { c.ProtoReflect().SetUnknown(b) }

func (c *carrier) bytes() []byte { return c.ProtoReflect().GetUnknown() }

// passing is the codec of this package's streams. It does not parse the content of a
// carrier, which saves copies of long batches. All other messages, such as those of the
// health, go through gRPC's own codec.
type passing struct{ encoding.CodecV2 }

func newPassing() passing { return passing{encoding.GetCodecV2(proto.Name)} }

// Name returns "proto": the bytes are the same.
func (passing) Name() string { return proto.Name }

// Marshal copies the bytes of a carrier, and passes on those of a loan.
func (p passing) Marshal(v any) (mem.BufferSlice, error) {
	switch c := v.(type) {
	case *carrier:
		return mem.BufferSlice{mem.Copy(c.bytes(), mem.DefaultBufferPool())}, nil
	case *loan:
		return c.give(), nil
	}
	return p.CodecV2.Marshal(v)
}

// Unmarshal puts a copy of the received bytes into a carrier, and the bytes themselves into a loan.
func (p passing) Unmarshal(data mem.BufferSlice, v any) error {
	switch c := v.(type) {
	case *carrier:
		c.set(data.Materialize())
		return nil
	case *loan:
		c.take(data)
		return nil
	}
	return p.CodecV2.Unmarshal(data, v)
}

// loan transports the bytes of a LinkFrame without a copy where gRPC has them in one piece. gRPC
// owns the parts of a sent frame. A received frame is valid until the next one is received.
type loan struct {
	parts  [][]byte   // to be sent
	memory *[]byte    // of frames; lent for the next frame; nil: it was not
	frame  []byte     // received
	of     mem.Buffer // has frame; nil: joined has it
	joined []byte     // reused
}

// maxJoined is the length of the longest frame whose memory is used for the next one. The first one
// in one piece gives it back.
const maxJoined = 320 << 10

// frames has memory for sent frames. gRPC gives it back when it has written the frame.
var frames framePool

type framePool struct{ pool sync.Pool }

// maxPooledFrame is the largest capacity that returns to frames.
const maxPooledFrame = 512 << 10

// leastFrame is the least capacity of memory of frames. gRPC gives memory back only if it is longer
// than 1 KiB.
const leastFrame = 4 << 10

// Get returns memory of no length and of that capacity or more.
func (p *framePool) Get(capacity int) *[]byte {
	b, ok := p.pool.Get().(*[]byte)
	if !ok {
		b = new([]byte)
	}
	*b = slices.Grow((*b)[:0], max(capacity, leastFrame))
	return b
}

// Put takes memory back.
func (p *framePool) Put(b *[]byte) {
	if cap(*b) <= maxPooledFrame {
		p.pool.Put(b)
	}
}

// give returns the parts. A frame of one part in lent memory gives that back when it is written;
// that of a frame in more parts is left to the garbage collector.
func (l *loan) give() mem.BufferSlice {
	memory := l.memory
	l.memory = nil
	if len(l.parts) == 1 && memory != nil && cap(l.parts[0]) > 0 && &l.parts[0][:1][0] == &(*memory)[:1][0] {
		*memory = l.parts[0]
		return mem.BufferSlice{mem.NewBuffer(memory, &frames)}
	}
	all := make(mem.BufferSlice, len(l.parts))
	for i, p := range l.parts {
		all[i] = mem.SliceBuffer(p)
	}
	return all
}

// take replaces the received frame by the next one.
func (l *loan) take(data mem.BufferSlice) {
	if l.of != nil {
		l.of.Free()
		l.of = nil
	}
	if len(data) == 1 {
		data.Ref()
		l.of, l.joined = data[0], nil
		l.frame = l.of.ReadOnlyData()
		return
	}
	n := data.Len()
	if n > maxJoined {
		l.frame = data.Materialize()
		return
	}
	l.joined = slices.Grow(l.joined[:0], n)[:n]
	data.CopyTo(l.joined)
	l.frame = l.joined
}
