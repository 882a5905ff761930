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

// A session keeps no more of a text than the name of a guest that is a part of it.
func TestSessionsCopyNames(t *testing.T) {
	names := strings.Repeat("x", 250) + "peer"
	name := performatives.AgentID(names[250:])
	m, err := performatives.New(performatives.Envelope{ID: "1", Performative: performatives.ActInform, Sender: name, Timestamp: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(Options{Name: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Stop(t.Context()) })
	p, err := NewPeers(n, PeerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l := newPeerLink(p, &wire.Session{})
	if guest, err := p.speaker(l, m); err != nil || guest.id != "peer/client-1@n1" || guest.label != name {
		t.Errorf("the guest is %+v, %v", guest, err)
	}
	kept := slices.Collect(maps.Keys(l.guests))
	if len(kept) != 1 || kept[0] != name || unsafe.StringData(string(kept[0])) == unsafe.StringData(string(name)) {
		t.Errorf("%q are kept, perhaps as a part of a longer text", kept)
	}
}
