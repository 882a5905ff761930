package wire

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// TestLabelUnderAnIdentity checks who speaks when a label is not covered by the identity.
func TestLabelUnderAnIdentity(t *testing.T) {
	m, err := performatives.New(performatives.Envelope{ID: "m", Performative: performatives.ActRequest, Sender: "router", Receiver: "x", Timestamp: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id   Identity
		want performatives.AgentID
	}{
		{Identity{}, "router"},
		{Identity{Name: "crm"}, "crm"},
		{Identity{Agents: []performatives.AgentID{"a", "b"}}, "a"},
		{Identity{Agents: []performatives.AgentID{"a", "*"}}, "router"},
		{Identity{Name: "crm", Agents: []performatives.AgentID{"Router"}}, "router"},
	} {
		if got := c.id.speaks(m).Sender(); got != c.want {
			t.Errorf("%+v: %s speaks, want %s", c.id, got, c.want)
		}
	}
}
