package wire

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The first request under an id comes over the session one. The second has another content.
func TestConflictsOfSessions(t *testing.T) {
	for _, c := range []struct {
		name     string
		session  string
		id       Identity
		owned    bool
		own      string // the id in a dialect that numbers messages per connection
		conflict bool
	}{
		{name: "the same session", session: "one", conflict: true},
		{name: "another session", session: "two"},
		{name: "of an owned id", session: "two", owned: true, conflict: true},
		{name: "of a name", session: "two", id: Identity{Name: "crm"}, conflict: true},
		{name: "of agents", session: "two", id: Identity{Agents: []performatives.AgentID{"a"}}, conflict: true},
		{name: "numbered, the same session", session: "one", id: Identity{Name: "crm"}, owned: true, own: "1", conflict: true},
		{name: "numbered, another session", session: "two", id: Identity{Name: "crm"}, owned: true, own: "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRequestContents()
			defer r.known.Close()
			m, err := performatives.New(performatives.Envelope{
				ID: "m", Sender: "a", Timestamp: time.Now(), Performative: performatives.ActQueryCapabilities, Payload: performatives.Raw("{}"),
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.check("one", c.id, c.owned, Inbound{Message: m, ID: c.own, Content: []byte("1")}); err != nil {
				t.Fatal(err)
			}
			if err := r.check(c.session, c.id, c.owned, Inbound{Message: m, ID: c.own, Content: []byte("2")}); (err != nil) != c.conflict {
				t.Errorf("got %v", err)
			}
			if err := r.check(c.session, c.id, c.owned, Inbound{Message: m, ID: c.own, Content: []byte("1")}); c.conflict && err != nil {
				t.Errorf("the first again: %v", err)
			}
		})
	}
}
