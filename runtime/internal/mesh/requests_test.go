package mesh

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
)

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
