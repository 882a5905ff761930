package runtime_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// welcome replies to an introduction.
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

// A client that introduces many agents at once exchanges messages correctly, whether gzip
// is agreed on with the first introduction or not.
func TestGzipAmongManyIntroductions(t *testing.T) {
	d := gateway.New(gateway.Options{})
	for round := range wiretest.Many(50) {
		server := &wiretest.Recorder{Answer: welcome}
		if round%2 != 0 {
			server.Answer = refuseFirst
		}
		introduceMany(t, d, server)
	}
}

func introduceMany(t *testing.T, d wire.Dialect, there *wiretest.Recorder) {
	t.Helper()
	server, err := wire.NewServer(wire.Options{Handler: there, Dialects: []wire.Dialect{d}, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	l, addr, err := overTCP.listen(server)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := overTCP.dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	here := &wiretest.Recorder{}
	client, err := wire.Connect(conn, wire.Options{Handler: here, Dialects: []wire.Dialect{d}})
	if err != nil {
		t.Fatal(err)
	}
	const n = 30
	for i := range n {
		if i == n/2 {
			there.Await(t, 1)
		}
		m := wiretest.Of(t, performatives.Envelope{
			Sender: performatives.AgentID(fmt.Sprint("agent", i)), Receiver: "system", ReplyWith: fmt.Sprint(i),
			Ontology: performatives.OntologyCapabilityQuery,
			Payload:  performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &performatives.Capabilities{}},
		})
		if err := client.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	here.Await(t, n)
	for _, stop := range []func(context.Context) error{client.Stop, server.Stop, l.Stop} {
		if err := stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := there.AwaitEnd(t, 1)[0]; err != nil {
		t.Fatalf("the session ended with %v", err)
	}
}
