package runtime

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
)

// An uplink has the same bounds and defaults as the sessions of a server.
func TestUplinkIsBoundedAsPeersAre(t *testing.T) {
	limits := UplinkOptions{MaxOpen: 1, MaxBytes: 2, Grace: 3, Patience: 4}.peerOptions().limits()
	if want := (relay.Limits{Open: 1, Bytes: 2, Grace: 3, Patience: 4}); limits != want {
		t.Errorf("%+v", limits)
	}
	peers, up := PeerOptions{}.limits(), UplinkOptions{}.peerOptions().limits()
	if peers != up || peers.Open != DefaultPeerOpen || peers.Bytes != DefaultPeerBytes {
		t.Errorf("by default %+v, and of an uplink %+v", peers, up)
	}
	if err := (PeerOptions{MaxBytes: -1}).validate(); err == nil || !strings.Contains(err.Error(), "MaxBytes") {
		t.Errorf("less than nothing: %v", err)
	}
}

// Events are made for the log only where it writes them: those of a watch for a node without a
// logger, and none without a watch.
func TestNodeWithoutALoggerMakesNoEvents(t *testing.T) {
	for _, tt := range []struct {
		watch *watch.Options
		want  int
	}{{nil, 0}, {&watch.Options{}, 1}} {
		o := Options{Watch: tt.watch}.withDefaults()
		if kinds := o.logged(); len(kinds) != tt.want {
			t.Errorf("with the watch %v it makes %v", tt.watch, kinds)
		}
	}
}
