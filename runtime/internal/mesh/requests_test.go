package mesh

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	for n := range times {
		for _, want := range c.requestLocked(n > 0) {
			asked = append(asked, want.From[0].Name)
		}
		if again := c.requestLocked(false); len(again) > 0 {
			asked = append(asked, "too early")
		}
	}
	return asked, nil
}

// fetched are links that count the requests for capabilities.
type fetched struct {
	sentLinks
	n atomic.Int64
}

func (l *fetched) Control(_ cluster.Incarnation, text []byte) bool {
	if text[0] == controlFetch {
		l.n.Add(1)
	}
	return true
}

// A request for capabilities is repeated when the two nodes have met again, and every fetchAgain,
// until the text has come.
func TestCapabilitiesAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		c, n2 := beside(t, p, &sentLinks{})
		links := &fetched{}
		c.links = links
		theirs := directory.New(n2.peer)
		text := []byte(`{"topics":["t"]}`)
		theirs.Put(directory.Entry{Agent: hostEntry("k"), Hidden: true, Hosts: true, Since: 1}, nil)
		theirs.Put(directory.Entry{Agent: "x", Since: 1}, text)
		for _, step := range []struct {
			name string
			does func()
			want int64
		}{
			{"the directory has an agent", func() { c.Merge(theirs.State()) }, 1},
			{"nothing is new", c.refresh, 1},
			{"the nodes have met", func() { linkHandler{c}.Connected(n2.peer, nil) }, 2},
			{"some time has passed", func() { time.Sleep(fetchAgain) }, 3},
			{"it has passed again", func() { time.Sleep(fetchAgain) }, 4},
			{"the text has come", func() { linkHandler{c}.Control(n2.peer, append([]byte{controlText}, text...)) }, 4},
			{"the other node asks for what cannot be a digest", func() { linkHandler{c}.Control(n2.peer, []byte{controlFetch, 1}) }, 4},
			{"the time has passed since", func() { time.Sleep(2 * fetchAgain) }, 4},
		} {
			step.does()
			synctest.Wait()
			if got := links.n.Load(); got != step.want {
				t.Errorf("%s: it has asked %d times, want %d", step.name, got, step.want)
			}
		}
		if r, known := p.node.System.Find("x"); !known || !slices.Equal(r.Describe().Topics, []string{"t"}) {
			t.Error("the capabilities are not known")
		}
		_ = stop(t.Context(), p.node)
	})
}
