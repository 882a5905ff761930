package wire_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// zipConn notes that it was told to compress.
type zipConn struct {
	wire.Conn
	on atomic.Bool
}

// Compressions returns one method.
func (*zipConn) Compressions() []string { return []string{"zip"} }

// Compress notes it.
func (c *zipConn) Compress(_ string, frames []wire.Frame) error {
	c.on.Store(true)
	return c.Write(frames)
}

// zipDialect agrees on zip with the first frame.
type zipDialect struct{ wiretest.Dialect }

// Open returns a codec that negotiates.
func (d zipDialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	c, err := d.Dialect.Open(o)
	return &zipCodec{c, "zip"}, err
}

type zipCodec struct {
	wire.Codec
	method string
}

// Agreed says so once.
func (c *zipCodec) Agreed() string {
	method := c.method
	c.method = ""
	return method
}

// A client compresses before its handler can answer what was agreed on: the other end
// takes everything after its own answer to be compressed.
func TestClientCompressesBeforeItAnswers(t *testing.T) {
	near, far := wiretest.Pipe()
	conn := &zipConn{Conn: near}
	on := make(chan bool, 1)
	r := &wiretest.Recorder{Answer: func(*wire.Session, *performatives.Message) error {
		on <- conn.on.Load()
		return nil
	}}
	s, err := wire.Connect(conn, wire.Options{Handler: r, Dialects: []wire.Dialect{zipDialect{}}})
	if err != nil {
		t.Fatal(err)
	}
	frame := `{"act":"INFORM","ID":"1","From":"a","To":"b","Time":1,"Payload":{}}`
	if err := far.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(frame)}}); err != nil {
		t.Fatal(err)
	}
	if !<-on {
		t.Error("the handler got the message first")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Stop(ctx) // at once: nobody reads
}
