package observe

import (
	"cmp"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// LostNode is another node of the cluster that is lost, and has not come back.
type LostNode struct {
	Node   string
	Time   time.Time // when this node lost it
	Reason string    // left, failed or unreachable: see [runtime.MemberLost]
}

// maxLostNodes is how many lost nodes are kept: the last ones.
const maxLostNodes = 100

// LostNodes returns the nodes that are lost and have not come back, the latest first. The caller
// owns the result.
func (r *Recorder) LostNodes() []LostNode {
	defer r.lock().Unlock()
	all := slices.Clone(r.lost)
	slices.Reverse(all)
	return all
}

func (r *Recorder) memberLostLocked(_ uint64, ev *runtime.MemberLost) {
	r.backLocked(ev.Node)
	r.lost = append(r.lost, LostNode{ev.Node, ev.Time, ev.Reason})
	r.lost = r.lost[max(0, len(r.lost)-maxLostNodes):]
}

func (r *Recorder) memberJoinedLocked(_ uint64, ev *runtime.MemberJoined) { r.backLocked(ev.Node) }
func (r *Recorder) memberLinkedLocked(_ uint64, ev *runtime.MemberLinked) { r.backLocked(ev.Node) }

// backLocked forgets that a node was lost.
func (r *Recorder) backLocked(node string) {
	r.lost = slices.DeleteFunc(r.lost, func(l LostNode) bool { return l.Node == node })
}

// lossLocked returns the text of the failure by which a conversation has ended because its
// responder was lost; empty if its last message is none.
func (e *entry) lossLocked(mask Mask) string {
	if len(e.messages) == 0 {
		return ""
	}
	m := e.messages[len(e.messages)-1].source
	if m == nil || m.Performative() != performatives.ActFailure {
		return ""
	}
	why := m.AsRefusal()
	if why == nil || why.Code != performatives.CodeDisconnected {
		return ""
	}
	return mask.Text(shortened(cmp.Or(why.Text, why.Code.Traits().Text), maxRefusalText))
}
