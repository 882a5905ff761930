package tcp_test

import (
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// welcome answers an introduction.
func welcome(s *wire.Session, m *performatives.Message) error {
	stamp := performatives.Stamp{ID: performatives.NewID(), Time: m.Timestamp()}
	answer, err := m.ReplyAs(stamp, performatives.ActInformCapabilities, performatives.InformCapabilities{})
	if err != nil {
		return err
	}
	return s.Send(answer)
}

// refuseFirst refuses the first introduction, which offers gzip.
func refuseFirst(s *wire.Session, m *performatives.Message) error {
	if m.Sender() == "agent0" {
		return &performatives.Refusal{Code: performatives.CodeForbidden}
	}
	return welcome(s, m)
}

// A client that introduces many agents at once, and agrees on gzip with the first or not,
// is understood and understands.
func TestGzipAmongManyIntroductions(t *testing.T) {
	d, err := gateway.New(gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for round := range wiretest.Many(100) {
		h := serve(t, tcp.Options{}, func(o *wire.Options) { o.Dialects = []wire.Dialect{d} })
		h.Answer = welcome
		if round%2 != 0 {
			h.Answer = refuseFirst
		}
		g := join(t, h.addr, tcp.DialOptions{}, d)
		const n = 30
		for i := range n {
			if i == n/2 {
				h.Await(t, 1)
			}
			m := wiretest.Of(t, performatives.Envelope{
				Sender: performatives.AgentID(fmt.Sprint("agent", i)), Receiver: "system", ReplyWith: fmt.Sprint(i),
				Ontology: performatives.OntologyCapabilityQuery,
				Payload:  performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &performatives.Capabilities{}},
			})
			if err := g.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		g.Await(t, n)
		stop(t, g.Stop)
		if err := h.AwaitEnd(t, 1)[0]; err != nil {
			t.Fatalf("the session ended with %v", err)
		}
	}
}
