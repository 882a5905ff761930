package mesh

import (
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
)

// No timer keeps a node in memory that has stopped. In the bubble no timer fires meanwhile, for the
// test is never blocked.
func TestStoppedNodesAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := stoppedNode(t)
		synctest.Wait()
		for range 100 {
			if goruntime.GC(); stopped.Value() == nil {
				return
			}
		}
		t.Error("the node is still in memory")
	})
}

// stoppedNode returns a node that has heard of a node which has not joined, has handed over an
// agent, and has stopped.
func stoppedNode(t *testing.T) weak.Pointer[Mesh] {
	t.Helper()
	n := newMesh(t)
	c, stranger := newClustered(n), cluster.Incarnation{Name: "n2", Epoch: 1}
	c.replica = directory.New(cluster.Incarnation{Name: "n1", Epoch: 1})
	other := directory.New(stranger)
	other.Put(directory.Entry{Agent: "worker", Since: 1}, nil)
	c.Merge(other.State())
	c.handOver("counter/1", stranger)
	if err := stop(t.Context(), n); err != nil {
		t.Error(err)
	}
	return weak.Make(n)
}
