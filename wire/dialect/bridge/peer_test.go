package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// peer is the codec of a session, with the frames that it writes and the messages that it takes.
type peer struct {
	t     testing.TB
	codec wire.Codec
}

func newPeer(t testing.TB, o wire.CodecOptions) *peer {
	t.Helper()
	if o.Stamper == nil {
		o.Stamper = &clock{}
	}
	codec, err := Dialect{}.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return &peer{t: t, codec: codec}
}

// greeted returns a session in which agent-1 has shaken hands.
func greeted(t testing.TB, o wire.CodecOptions) *peer {
	t.Helper()
	p := newPeer(t, o)
	hello := p.one(frame("hello-1", "handshake_request", "agent-1", "system", "", handshake("agent-1")))
	if hello.Message == nil {
		t.Fatalf("the handshake is refused: %v", hello.Err)
	}
	p.send(answered(t, hello.Message, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}}))
	return p
}

// frame is a message. Empty ids are null.
func frame(id, kind, from, to, about, payload string) string {
	quoted := func(s string) string {
		if s == "" {
			return "null"
		}
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf(`{"message_id":%q,"message_type":%q,"sender_id":%q,"receiver_id":%s,"timestamp":"2025-01-30T10:30:00Z","correlation_id":%s,"priority":"normal","payload":%s}`,
		id, kind, from, quoted(to), quoted(about), payload)
}

func handshake(agent string) string {
	return fmt.Sprintf(`{"agent_id":%q,"agent_name":"A program","agent_role":"processor","tools":["paint"]}`, agent)
}

// all passes a frame to the codec.
func (p *peer) all(text string) (all []wire.Inbound) {
	p.codec.Decode([]byte(text), func(in wire.Inbound) {
		in.Content = slices.Clone(in.Content)
		all = append(all, in)
	})
	return all
}

// one passes a frame with one item to the codec.
func (p *peer) one(text string) wire.Inbound {
	p.t.Helper()
	all := p.all(text)
	if len(all) != 1 {
		p.t.Fatalf("%d items of %s", len(all), text)
	}
	return all[0]
}

// message passes a frame with a message to the codec.
func (p *peer) message(text string) wire.Inbound {
	p.t.Helper()
	in := p.one(text)
	if in.Message == nil {
		p.t.Fatalf("%v for %s", in.Err, text)
	}
	return in
}

// send writes a message. It returns the empty string when there is nothing to write.
func (p *peer) send(m *performatives.Message) string {
	p.t.Helper()
	out, err := wiretest.Encode(p.t, p.codec, m)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(out)
}

// written is the part of a written message that the tests read.
type written struct {
	ID          string         `json:"message_id"`
	Type        string         `json:"message_type"`
	Sender      string         `json:"sender_id"`
	Receiver    string         `json:"receiver_id"`
	Correlation string         `json:"correlation_id"`
	Accepted    *bool          `json:"accepted"`
	Payload     map[string]any `json:"payload"`
	Metadata    map[string]any `json:"metadata"`
}

func read(t testing.TB, text string) written {
	t.Helper()
	var w written
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return w
}

// details are those of an error.
func (w written) details() map[string]any {
	d, _ := w.Payload["details"].(map[string]any)
	return d
}

var stamps int

func stampOf() performatives.Stamp {
	stamps++
	return performatives.Stamp{ID: performatives.MessageID(fmt.Sprintf("ours-%d", stamps)), Time: arrival}
}

// answered returns the answer to m.
func answered(t testing.TB, m *performatives.Message, payload any) *performatives.Message {
	t.Helper()
	from := m.Receiver()
	if from == "" {
		from = "node"
	}
	reply, err := m.ReplyFrom(from, stampOf(), actOf(payload), payload)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func actOf(payload any) performatives.Performative {
	if p, ok := payload.(interface {
		Act() performatives.Performative
	}); ok {
		return p.Act()
	}
	return performatives.ActInform
}

// asked returns a request of an agent of this node.
func asked(t testing.TB, payload any, change ...func(*performatives.Envelope)) *performatives.Message {
	t.Helper()
	s := stampOf()
	e := performatives.Envelope{ID: s.ID, Timestamp: s.Time, Sender: "Eddy", Receiver: "agent-1", ReplyWith: string(s.ID), Payload: payload}
	for _, f := range change {
		f(&e)
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
