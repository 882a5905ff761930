package grpc

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/emptypb"
)

// carrier is a protobuf message without fields that transports the bytes of a Frame. All
// its content is unknown fields, which every codec for protobuf reads and writes
// unchanged.
type carrier struct{ emptypb.Empty }

func (c *carrier) set(b []byte) { c.ProtoReflect().SetUnknown(b) }

func (c *carrier) bytes() []byte { return c.ProtoReflect().GetUnknown() }

// passing is a codec for carriers that does not parse their content. It saves copies of
// long batches.
type passing struct{}

var _ encoding.CodecV2 = passing{}

// Name returns "proto": the bytes are the same.
func (passing) Name() string { return "proto" }

// Marshal copies the bytes of a carrier.
func (passing) Marshal(v any) (mem.BufferSlice, error) {
	c, ok := v.(*carrier)
	if !ok {
		return nil, fmt.Errorf("grpc: marshal %T", v)
	}
	return mem.BufferSlice{mem.Copy(c.bytes(), mem.DefaultBufferPool())}, nil
}

// Unmarshal puts a copy of the received bytes into a carrier.
func (passing) Unmarshal(data mem.BufferSlice, v any) error {
	c, ok := v.(*carrier)
	if !ok {
		return fmt.Errorf("grpc: unmarshal %T", v)
	}
	c.set(data.Materialize())
	return nil
}
