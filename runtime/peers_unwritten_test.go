package runtime_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
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

// The peer whose request cannot be written to another peer is told so, although the record of the request has ended by then.
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
