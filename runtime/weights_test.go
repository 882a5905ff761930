package runtime

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// A message with a new sender or receiver keeps its weight.
func TestRenamedKeepsItsWeight(t *testing.T) {
	m := act(t, "q", p.ActInform, func(e *p.Envelope) { e.Payload = p.Raw(`{"x":"` + strings.Repeat("x", 5000) + `"}`) })
	if w := m.Readdressed("a", "b").Weight(); w != 0 {
		t.Errorf("made here: %d", w)
	}
	m.Weigh()
	if w := m.Readdressed("a", "b").Weight(); w < 5000 {
		t.Errorf("from outside: %d", w)
	}
}

// An uplink has the same bounds and defaults as the sessions of a server.
func TestUplinkIsBoundedAsPeersAre(t *testing.T) {
	want := PeerOptions{MaxOpen: 1, MaxBytes: 2, Grace: 3, Patience: 4}
	o := UplinkOptions{MaxOpen: 1, MaxBytes: 2, Grace: 3, Patience: 4}
	if !cmp.Equal(o.peerOptions(), want) || !cmp.Equal(o.withDefaults().peerOptions(), want) {
		t.Errorf("%+v, and with defaults %+v", o.peerOptions(), o.withDefaults().peerOptions())
	}
	peers, up := PeerOptions{}.withDefaults().limits(), UplinkOptions{}.withDefaults().peerOptions().limits()
	if peers != up || peers.open != DefaultPeerOpen || peers.bytes != DefaultPeerBytes {
		t.Errorf("by default %+v, and of an uplink %+v", peers, up)
	}
	if err := (PeerOptions{MaxBytes: -1}).validate(); err == nil || !strings.Contains(err.Error(), "MaxBytes") {
		t.Errorf("less than nothing: %v", err)
	}
}
