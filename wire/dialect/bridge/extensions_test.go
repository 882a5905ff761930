package bridge

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// extended returns a session of the node n1 in which agent-1 has agreed to all extensions, and
// agent-2 to none.
func extended(t testing.TB, o wire.CodecOptions) *peer {
	t.Helper()
	if o.Stamper == nil {
		o.Stamper = &clock{}
	}
	codec, err := Dialect{Node: "n1"}.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, codec: codec}
	offer := strings.TrimSuffix(handshake("agent-1"), "}") + `,"extensions":{"progress":{},"compression":{"methods":["gzip"]},"routing":{},"batching":{}}}`
	got := read(t, p.send(answered(t, p.message(frame("hello-1", "handshake_request", "agent-1", "", "", offer)).Message, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}})))
	if want := "map[progress:map[] routing:map[]]"; fmt.Sprint(got.Payload["extensions"]) != want {
		t.Fatalf("agreed: %v", got.Payload["extensions"])
	}
	second := p.message(frame("hello-2", "handshake_request", "agent-2", "", "", handshake("agent-2"))).Message
	p.send(answered(t, second, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}}))
	return p
}

// beside returns a frame with further members of the envelope.
func beside(text, members string) string { return strings.TrimSuffix(text, "}") + "," + members + "}" }

// A message is passed on with its way, and not to a node that it has passed.
func TestRouting(t *testing.T) {
	p := extended(t, wire.CodecOptions{Local: "node"})
	const note = `{"event_type":"e","data":{}}`
	to := func(route string) *performatives.Message {
		m := p.all(beside(frame("m-1", "notification", "agent-1", "Bob", "", note), `"route":`+route))[0]
		if m.Message == nil {
			t.Fatalf("%s: %v", route, m.Err)
		}
		back, err := m.Message.With(func(e *performatives.Envelope) { e.Sender, e.Receiver = e.Receiver, e.Sender })
		if err != nil {
			t.Fatal(err)
		}
		return back
	}
	if got := p.send(to(`{"hop_limit":3,"path":["n2","n3"]}`)); !strings.Contains(got, `"route":{"hop_limit":2,"path":["n2","n3","n1"]}`) {
		t.Errorf("got %s", got)
	}
	if got := p.send(asked(t, performatives.TaskRequest{TaskType: "paint"})); !strings.Contains(got, `"route":{"hop_limit":16,"path":["n1"]}`) {
		t.Errorf("got %s", got)
	}
	// The node to which the sender is connected, and another one of the cluster, both add their
	// names.
	there := extended(t, wire.CodecOptions{Local: "node"})
	there.codec.(*session).node = "n9"
	if got := there.send(to(`{"hop_limit":3,"path":["n2"]}`)); !strings.Contains(got, `"route":{"hop_limit":2,"path":["n2","n1","n9"]}`) {
		t.Errorf("got %s", got)
	}
	if _, err := p.codec.Encode(nil, to(`{"hop_limit":0,"path":["n2"]}`)); !errors.Is(err, performatives.CodeUnknownAgent) {
		t.Errorf("beyond the hop limit: %v", err)
	}
	elsewhere, err := to(`{"hop_limit":3,"path":["n2"]}`).With(func(e *performatives.Envelope) { e.Receiver = "agent-2" })
	if err != nil {
		t.Fatal(err)
	}
	if got := p.send(elsewhere); strings.Contains(got, "route") {
		t.Errorf("to an agent that has not agreed to it: %s", got)
	}
	if in := p.all(beside(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"t"}`), `"route":{"hop_limit":3,"path":["n2","N1"]}`))[0]; in.Err == nil || in.Err.Field != "route" {
		t.Errorf("a message that has been here: %v", in.Err)
	}
	for _, route := range []string{
		`1`, `{"path":[]}`, `{"hop_limit":-1,"path":[]}`, `{"hop_limit":256,"path":[]}`, `{"hop_limit":1,"path":[1]}`,
	} {
		if got := p.send(to(route)); !strings.Contains(got, `"route":{"hop_limit":16,"path":["n1"]}`) {
			t.Errorf("%s is passed on as %s", route, got)
		}
		in := p.all(beside(frame("m-1", "notification", "agent-2", "Bob", "", note), `"route":`+route))[0]
		if in.Message == nil {
			t.Errorf("%s of an agent that means something else by it: %v", route, in.Err)
		}
	}
}
