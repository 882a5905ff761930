package runtime_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// connectionsOnly authenticates no tokens.
type connectionsOnly struct{}

func (connectionsOnly) Authenticate(context.Context, wire.Credentials) (wire.Identity, error) {
	return wire.Identity{}, wire.ErrNoCredentials
}

// A message carries who authenticated where it entered the node, whoever its sender says to be, and
// no peer gets to know it.
func TestPrincipal(t *testing.T) {
	for _, tt := range []struct {
		id        *wire.Identity
		from      performatives.AgentID
		principal string
	}{
		{nil, "anybody", ""},
		{&wire.Identity{}, "anybody/2", ""},
		{&wire.Identity{Name: "crm"}, "crm/bot", "crm"},
		{&wire.Identity{Agents: []performatives.AgentID{"a", "b"}}, "b/1", "b"},
		{&wire.Identity{Name: "admin", Agents: []performatives.AgentID{"*"}}, "Eddy", "admin"},
	} {
		h := newHub(t, noPeerOptions, func(o *wire.Options) {
			if tt.id != nil {
				o.Auth, o.Anonymous = connectionsOnly{}, false
			}
		})
		got := make(chan *performatives.Message, 10)
		h.spawn("Eliza", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *performatives.Message) { got <- m }}))
		peer := newCaller(t, h, &wire.Identity{})
		peer.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("x")))
		peer.answer(1)
		sent := listen(t, h.Node, events.KindMessageSent)
		c := newCaller(t, h, tt.id)
		claim := func(e *performatives.Envelope) { e.Principal = "a claim" }
		c.say(message(t, tt.from, "Eliza", performatives.ActInform, claim))
		if m := <-got; m.Principal() != tt.principal || m.Sender().Name() != tt.from {
			t.Errorf("a message of %s with %+v has the principal %q", m.Sender(), tt.id, m.Principal())
		}
		relayed := message(t, tt.from, "Jules", performatives.ActInform)
		c.say(relayed)
		if m := peer.answer(2); m.ID() != relayed.ID() || m.Principal() != "" {
			t.Errorf("the peer gets %s with the principal %q", m.ID(), m.Principal())
		}
		for _, e := range await(t, sent, 1, func(e events.MessageSent) bool { return e.Message.ID() == relayed.ID() }) {
			text, err := json.Marshal(e)
			if want := `"principal":"` + tt.principal + `"`; err != nil || strings.Contains(string(text), want) != (tt.principal != "") {
				t.Errorf("%v: %s", err, text)
			}
		}
	}
}
