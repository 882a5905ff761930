package membership

import (
	"context"
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/patience"
)

// realSwarm starts real nodes that join the first, and waits until all know all.
func realSwarm(t testing.TB, size int) []*node {
	t.Helper()
	all := make([]*node, size)
	for i := range all {
		o := Options{Name: fmt.Sprint("n", i), Profile: Local}
		if i > 0 {
			o.Seeds = []string{all[0].Self().Gossip}
		}
		all[i] = start(t, o)
	}
	waitFor(t, func() bool { return count(all, size) })
	return all
}

// count reports whether each node has a number of members.
func count(all []*node, size int) bool {
	for _, n := range all {
		if len(n.Members()) != size {
			return false
		}
	}
	return true
}

func TestRealNodesConverge(t *testing.T) {
	sizes := []int{5}
	if exhaustive.Enabled() {
		sizes = append(sizes, 50)
	}
	for _, size := range sizes {
		t.Run(fmt.Sprint(size, " nodes"), func(t *testing.T) {
			all := realSwarm(t, size)
			killed, left, rest := all[size-1], all[size-2], all[:size-2]
			killed.kill(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
			defer cancel()
			if err := left.Leave(ctx); err != nil {
				t.Errorf("leave: %v", err)
			}
			waitFor(t, func() bool { return count(rest, size-2) })
			start(t, Options{Name: killed.options.Name, Seeds: []string{all[0].Self().Gossip}})
			waitFor(t, func() bool { return count(rest, size-1) })
		})
	}
}
