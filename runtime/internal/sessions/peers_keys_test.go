package sessions

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
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
	system, err := actors.NewSystem(actors.Options{Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = system.Stop(context.WithoutCancel(t.Context())) })
	r := relay.New(system, nil, nil, nil)
	p := New(Host{System: system, Relay: r, Handover: new(sync.Mutex), Changed: func(performatives.AgentID) {}}).NewPeers(PeerOptions{MaxAgents: 1})
	l := newLink(p, &wire.Session{})
	if guest, err := p.speaker(l, m); err != nil || guest.id != "peer/client-1@n1" || guest.label != name {
		t.Errorf("the guest is %+v, %v", guest, err)
	}
	kept := slices.Collect(maps.Keys(l.guests))
	if len(kept) != 1 || kept[0] != name || unsafe.StringData(string(kept[0])) == unsafe.StringData(string(name)) {
		t.Errorf("%q are kept, perhaps as a part of a longer text", kept)
	}
}
