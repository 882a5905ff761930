package mesh

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
)

// unknownNodes are the nodes whose links were refused because they are no members here. A node that
// joins may open a link before this node knows it, and one that leaves after this node has
// forgotten it: only refusals that go on for a while are worth a warning.
type unknownNodes struct {
	mu sync.Mutex
	by map[cluster.Incarnation]*unknownNode
}

// unknownNode is the refusals of one node, with less than unknownTime between them.
type unknownNode struct {
	first, last time.Time
	warn        time.Duration // how long after first the next warning is due
}

const (
	unknownTime = 10 * time.Second // longer than a member of a cluster is unknown to another one, and than it waits before it tries again
	maxUnknown  = 256
)

// level returns the level at which a refused link is logged. For an unknown node that is a warning
// after unknownTime, and after each doubling of it.
func (u *unknownNodes) level(refusal error, now time.Time) slog.Level {
	var unknown *nodelink.UnknownNodeError
	if !errors.As(refusal, &unknown) {
		return slog.LevelWarn
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.by[unknown.Node]
	if n == nil || now.Sub(n.last) >= unknownTime {
		n = &unknownNode{first: now, warn: unknownTime}
		putWithin(maxUnknown, &u.by, unknown.Node, n)
	}
	n.last = now
	lasted := now.Sub(n.first)
	if lasted < n.warn {
		return slog.LevelDebug
	}
	n.warn = 2 * lasted
	return slog.LevelWarn
}
