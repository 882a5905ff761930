package runtime

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// A session keeps no more of a text than the name that is a part of it.
func TestSessionsCopyNames(t *testing.T) {
	names := strings.Repeat("x", 250) + "peer"
	name := performatives.AgentID(names[250:])
	m, err := performatives.New(performatives.Envelope{ID: "1", Sender: name, Timestamp: time.Unix(1, 0), Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary}})
	if err != nil {
		t.Fatal(err)
	}
	l := &peerLink{session: &wire.Session{}}
	(&Peers{opts: PeerOptions{MaxAgents: 1}}).client(l, name)
	if !l.owns(m) {
		t.Error("an introduction makes no name")
	}
	kept := slices.Concat(slices.Collect(maps.Keys(l.owned)), slices.Collect(maps.Keys(l.clients)))
	if len(kept) != 2 {
		t.Errorf("%q are kept", kept)
	}
	for _, id := range kept {
		if id != name || unsafe.StringData(string(id)) == unsafe.StringData(string(name)) {
			t.Errorf("%q is kept, which is a part of a longer text: %t", id, id == name)
		}
	}
}
