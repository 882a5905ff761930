package membership

import (
	"context"

	"github.com/ribosome-agents/ribosome/cluster"
)

// Membership is one node's view of the cluster. [Gossip] is the one of a real network, and [Model]
// that of a simulation. All methods may be called at once, also from Options.Notify. None but
// SendBulk, Leave and Stop waits for other nodes.
type Membership interface {
	// Self returns this node, as it describes itself now.
	Self() cluster.Member
	// Members returns the nodes that take part and are believed to be alive, this one included, by
	// name. Each of them but this node has had its Joined event queued, not necessarily delivered.
	// The caller owns the slice; labels are shared and must not be changed.
	Members() []cluster.Member
	// Update replaces the labels of this node and says whether it is leaving. The others get it
	// with the next gossip. Errors: [ErrMetadata] when it is too long; [ErrStopped].
	Update(labels map[string]string, leaving bool) error
	// Broadcast hands a delta to Gossiped.Received of each other member, best effort: it may be
	// lost, repeated and reordered. At most MaxBroadcast bytes, which it copies. When more than
	// Options.BroadcastQueue wait, one of those that were sent most often is dropped. Errors:
	// [ErrTooLong], [ErrStopped].
	Broadcast(delta []byte) error
	// SendBulk hands data to Gossiped.Received of one other member over a stream of its own. It may
	// block for the connection to that member, at most for Profile's time-out. At most MaxBulk
	// bytes. No error does not mean that it was received. Errors: [ErrTooLong], [ErrUnknownMember],
	// [ErrStopped], and those of the network.
	SendBulk(to cluster.Incarnation, data []byte) error
	// Leave tells the others that this node leaves: they see Left, not Failed. It then stops. ctx
	// bounds the telling.
	Leave(ctx context.Context) error
	// Stop ends the membership without telling the others, who see Failed. It is idempotent. After
	// it, and not before the call of Options.Notify that is running has returned, nothing is
	// delivered. It must not be called from Notify.
	Stop(ctx context.Context) error
}

// GossipState is the state that the members replicate. Its methods are called from several
// goroutines, and must not block: failure detection waits for them.
type GossipState interface {
	// Received takes a delta that another member passed to Broadcast or SendBulk. It owns the
	// slice.
	Received(delta []byte)
	// State returns all of this node's state, for a push/pull with one other member. At most
	// MaxState bytes; longer state is not sent.
	State() []byte
	// Merge takes the State of another member. It owns the slice.
	Merge(state []byte)
}

// Kind is what happened to a member.
type Kind uint8

// The kinds of events. For one incarnation, Joined comes first, then Updated any number of times,
// then Left or Failed. Nothing comes after Left. After Failed only Joined may come, see there.
const (
	// Joined means that a node takes part.
	Joined Kind = iota + 1
	// Updated means that a member describes itself differently.
	Updated
	// Left means that a member told that it left.
	Left
	// Failed means that a member is believed to be dead. It may live behind a broken network, and
	// come back when that heals: then Joined follows, with the same incarnation, since it is the
	// same process. (If it had to take a new epoch, one node that saw all others fail for a moment
	// would make all of them begin anew.)
	Failed
	// Raised means that this node itself has a greater epoch from now on: a member knew an earlier
	// run of its name with an epoch that is not less, because this machine's clock went back. The
	// others see Failed of the old incarnation and Joined of the new one. Member is Self.
	Raised
)

// Event is one change of the membership. There are none about the node itself but Raised.
//
// Events come one at a time. A node that restarts under its name has a greater epoch: Failed or
// Left of the old incarnation comes before Joined of the new one. For a slow receiver, the updates
// of a member are merged into one event, and a member that joined and ended in between has no event
// at all. So no more events wait than there are members.
type Event struct {
	Kind   Kind
	Member cluster.Member
}
