package grpc

import (
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

// Marshal copies the bytes of a carrier.
func (p passing) Marshal(v any) (mem.BufferSlice, error) {
	if c, ok := v.(*carrier); ok {
		return mem.BufferSlice{mem.Copy(c.bytes(), mem.DefaultBufferPool())}, nil
	}
	return p.CodecV2.Marshal(v)
}

// Unmarshal puts a copy of the received bytes into a carrier.
func (p passing) Unmarshal(data mem.BufferSlice, v any) error {
	if c, ok := v.(*carrier); ok {
		c.set(data.Materialize())
		return nil
	}
	return p.CodecV2.Unmarshal(data, v)
}
