package runtime

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An uplink has the same bounds and defaults as the sessions of a server.
func TestUplinkIsBoundedAsPeersAre(t *testing.T) {
	want := PeerOptions{MaxOpen: 1, MaxBytes: 2, Grace: 3, Patience: 4}
	o := UplinkOptions{MaxOpen: 1, MaxBytes: 2, Grace: 3, Patience: 4}
	if !cmp.Equal(o.peerOptions(), want) || !cmp.Equal(o.withDefaults().peerOptions(), want) {
		t.Errorf("%+v, and with defaults %+v", o.peerOptions(), o.withDefaults().peerOptions())
	}
	peers, up := PeerOptions{}.withDefaults().limits(), UplinkOptions{}.withDefaults().peerOptions().limits()
	if peers != up || peers.Open != DefaultPeerOpen || peers.Bytes != DefaultPeerBytes {
		t.Errorf("by default %+v, and of an uplink %+v", peers, up)
	}
	if err := (PeerOptions{MaxBytes: -1}).validate(); err == nil || !strings.Contains(err.Error(), "MaxBytes") {
		t.Errorf("less than nothing: %v", err)
	}
}
