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

// Plain skips a long exploration, in a test that begins with TestExplore, under the race detector,
// with which it takes ten times as long. It runs on one goroutine. .ci/plain runs it.
func Plain(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("an exploration on one goroutine: it runs without the race detector, too")
	}
}
