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

// Another message under the id of a request is refused, unless it is the same in all that counts.
// News and messages without content are not.
func TestWhatConflicts(t *testing.T) {
	first := performatives.Envelope{
		ID: "m", Sender: "a", Receiver: "b", Timestamp: time.Unix(1, 0), Performative: performatives.ActRequest, MessageType: "X", Payload: performatives.Raw("{}"),
	}
	for name, tt := range map[string]struct {
		change   func(*performatives.Envelope)
		content  []byte
		conflict bool
	}{
		"a copy":                   {func(*performatives.Envelope) {}, []byte("1"), false},
		"a retry":                  {func(e *performatives.Envelope) { e.Timestamp, e.ReplyBy = time.Unix(2, 0), time.Unix(3, 0) }, []byte("1"), false},
		"the receiver in capitals": {func(e *performatives.Envelope) { e.Receiver = "B" }, []byte("1"), false},
		"another content":          {func(*performatives.Envelope) {}, []byte("2"), true},
		"no content":               {func(*performatives.Envelope) {}, nil, false},
		"an empty content":         {func(*performatives.Envelope) {}, []byte{}, true},
		"another receiver":         {func(e *performatives.Envelope) { e.Receiver = "c" }, []byte("1"), true},
		"another act":              {func(e *performatives.Envelope) { e.Performative = performatives.ActSubscribe }, []byte("1"), true},
		"another message type":     {func(e *performatives.Envelope) { e.MessageType = "Y" }, []byte("1"), true},
		"news":                     {func(e *performatives.Envelope) { e.Performative = performatives.ActInform }, []byte("2"), false},
		"another id":               {func(e *performatives.Envelope) { e.ID = "n" }, []byte("2"), false},
		"another sender":           {func(e *performatives.Envelope) { e.Sender = "c" }, []byte("2"), false},
	} {
		r := newRequestContents()
		for i, change := range []func(*performatives.Envelope){func(*performatives.Envelope) {}, tt.change} {
			e := first
			change(&e)
			m, err := performatives.New(e)
			if err != nil {
				t.Fatal(err)
			}
			err = r.check("s", Identity{}, false, Inbound{Message: m, Content: [][]byte{[]byte("1"), tt.content}[i]})
			if (err != nil) != (i == 1 && tt.conflict) {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil && err.Error() != "id: want an id that no other message has had, got m (invalid_payload_structure)" {
				t.Errorf("%s: %v", name, err)
			}
		}
		r.known.Close()
	}
}
