package explore

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
)

// Group explores n conversations that c leads over the network net, logs the result, and fails
// the test for a fault.
func Group(t *testing.T, network string, c machine.Coordination, n int, net verify.Network) {
	t.Helper()
	result, err := verify.ExploreGroup(c, n, net)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(network, result)
}
