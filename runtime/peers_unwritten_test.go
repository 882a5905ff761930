package runtime_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// When a reply cannot be encoded, the peer gets FAILURE, and the reply is a dead letter.
func TestAnswerThatCannotBeWritten(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("Jules", returning(worker{func(context.Context, delegation.Task) (performatives.InformResult, error) {
		return performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.RawContent([]byte(`{"a":}`))}, nil
	}}))
	c := newCaller(t, h, nil)
	c.say(message(t, "Eddy", "Jules", performatives.ActTaskRequest, with(task("list"))))
	if r := c.answer(2).AsRefusal(); r == nil || r.Code != performatives.CodeFailed {
		t.Errorf("told %+v", r)
	}
	if n := h.Counts().DeadLetters; n != 1 {
		t.Errorf("%d dead letters, want the answer", n)
	}
}

// unwritable is a dialect that cannot encode a QUERY_IF.
type unwritable struct{ acl.Dialect }

func (d unwritable) Open(o wire.CodecOptions) (wire.Codec, error) {
	c, err := d.Dialect.Open(o)
	return unwritableCodec{c}, err
}

type unwritableCodec struct{ wire.Codec }

func (c unwritableCodec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	if m.Performative() == performatives.ActQueryIf {
		return dst, &performatives.Refusal{Code: performatives.CodeInvalidPayload, Text: "not in this dialect"}
	}
	return c.Codec.Encode(dst, m)
}

// unsure is a connection that writes and reports an error.
type unsure struct {
	wire.Conn
	fails atomic.Bool
}

func (c *unsure) Write(frames []wire.Frame) error {
	fails := c.fails.Load() // before the other end can answer the frames
	if err := c.Conn.Write(frames); err != nil {
		return err
	}
	if fails {
		return io.ErrClosedPipe
	}
	return nil
}

// A request whose write fails may have arrived, so that its sender is not told that the worker has
// refused it: it has lost the worker.
func TestRequestThatWasPerhapsWritten(t *testing.T) {
	h := newHub(t, noPeerOptions)
	near, far := wiretest.Pipe()
	conn := &unsure{Conn: far}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = h.server.Serve(conn, nil)
	}()
	jules := &caller{t: t}
	var err error
	if jules.session, err = wire.Connect(near, wire.Options{Handler: &jules.Recorder, Dialects: []wire.Dialect{acl.Dialect{}}}); err != nil {
		t.Fatal(err)
	}
	jules.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
	jules.answer(1)
	conn.fails.Store(true)
	d, err := delegation.Start(context.Background(), h, "Jules", task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	if m := jules.answer(2); m.Performative() != performatives.ActTaskRequest {
		t.Fatalf("got %s", m.Performative())
	}
	_ = near.Close()
	<-served
	_, err = d.Wait()
	var end *codons.EndError
	if !errors.As(err, &end) || end.State != standard.StateFailed || !errors.Is(err, performatives.CodeDisconnected) {
		t.Errorf("the asker is told %v", err)
	}
	if n := h.Counts(); n.DeadLetters != 1 {
		t.Errorf("%d dead letters, want the request", n.DeadLetters)
	}
}

// The peer whose request cannot be written to another peer is told so, although the record of the
// request has ended by then.
func TestRelayedRequestThatCannotBeWritten(t *testing.T) {
	h := newHub(t, noPeerOptions, func(o *wire.Options) { o.Dialects = []wire.Dialect{unwritable{}} })
	worker, asker := newCaller(t, h, nil), newCaller(t, h, nil)
	worker.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("audit")))
	h.awaitVisible("Jules")
	asker.say(message(t, "Eddy", "Jules", performatives.ActQueryIf, with(performatives.Raw(`{"condition":"x"}`))))
	if m := asker.answer(1); m.AsRefusal() == nil || m.AsRefusal().Code != performatives.CodeInvalidPayload || m.Sender() != "Jules" {
		t.Errorf("told %s by %s, %v", m.Performative(), m.Sender(), m.AsRefusal())
	}
	if n := h.Counts(); n.Refused != 1 || n.DeadLetters != 0 {
		t.Errorf("%d refused and %d dead letters, want the request refused", n.Refused, n.DeadLetters)
	}
}
