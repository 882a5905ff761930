package mesh

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
)

// When a node does not give the text of capabilities, the others are asked that have it, one after
// the other.
func TestAnotherNodeIsAskedForCapabilities(t *testing.T) {
	var nodes []cluster.Incarnation
	var states [][]byte
	for _, name := range []string{"a", "b", "c"} {
		node := cluster.Incarnation{Name: name, Epoch: 1}
		r := directory.New(node)
		r.Put(directory.Entry{Agent: "X", Since: 1}, []byte("text"))
		nodes, states = append(nodes, node), append(states, r.State())
	}
	for name, c := range map[string]struct {
		linked []cluster.Incarnation
		want   []string
	}{
		"links to all":  {nodes, []string{"a", "b", "c", "a"}},
		"links to some": {nodes[1:], []string{"b", "c", "b", "c"}},
		"no link":       {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := requests(cluster.Incarnation{Name: "self", Epoch: 1}, c.linked, states, 4)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// requests returns the nodes that a node with links to some asks for a text of capabilities, when
// none answers.
func requests(self cluster.Incarnation, linked []cluster.Incarnation, states [][]byte, times int) (asked []string, err error) {
	c := &clustered{self: self, replica: directory.New(self), peers: make(map[cluster.Incarnation]*nodeLink)}
	for _, peer := range linked {
		c.peers[peer] = &nodeLink{peer: peer}
	}
	c.listLocked()
	for _, state := range states {
		if _, err := c.replica.Merge(state); err != nil {
			return nil, err
		}
	}
	now := time.Now()
	for range times {
		for _, want := range c.requestLocked(now) {
			asked = append(asked, want.From[0].Name)
		}
		if again := c.requestLocked(now.Add(fetchAgain / 2)); len(again) > 0 {
			asked = append(asked, "too early")
		}
		now = now.Add(fetchAgain)
	}
	return asked, nil
}
