package runtime

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
)

// An uplink has the same bounds and defaults as the sessions of a server.
func TestUplinkIsBoundedAsPeersAre(t *testing.T) {
	limits := func(o PeerOptions, err error) relay.Limits {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		return o.limits()
	}
	if got, want := limits(UplinkOptions{MaxOpen: 1, MaxBytes: 2, Grace: 3, Patience: 4}.peerOptions()), (relay.Limits{Open: 1, Bytes: 2, Grace: 3, Patience: 4}); got != want {
		t.Errorf("%+v", got)
	}
	peers, up := limits(PeerOptions{}.withDefaults()), limits(UplinkOptions{}.peerOptions())
	if peers != up || peers.Open != DefaultPeerOpen || peers.Bytes != DefaultPeerBytes {
		t.Errorf("by default %+v, and of an uplink %+v", peers, up)
	}
	if _, err := (PeerOptions{MaxBytes: -1}).withDefaults(); err == nil || !strings.Contains(err.Error(), "MaxBytes") {
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
