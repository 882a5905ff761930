package runtime_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/runtime"
)

// When a node does not give the text of capabilities, the others are asked that have it, one after the other.
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
			got, err := runtime.Requests(cluster.Incarnation{Name: "self", Epoch: 1}, c.linked, states, 4)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}
