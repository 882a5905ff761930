package mesh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
)

// placer runs the agents of kinds on this node, and finds those of other nodes.
type placer struct {
	node *Mesh

	ctx   context.Context // ends when the node stops
	end   context.CancelFunc
	moves context.Context // ends when the agents that move are to end their conversations
	hurry context.CancelFunc

	offers     context.Context // ends when the agents that move are to have been taken
	stopOffers context.CancelFunc
	room       chan struct{} // has one for each agent more that may be offered to others
	draining   atomic.Bool   // the node hosts no kind any more
	settles    timer

	mu     sync.Mutex
	kinds  map[string]*kind
	active map[performatives.AgentID]*activation // by folded id
}

// activation is one run of a placed agent on this node.
type activation struct {
	kind *kind

	// Guarded by placer.mu, besides the Agent.
	run
	passive *retired      // nil for an agent that runs or starts
	busy    chan struct{} // not nil while the agent starts or leaves; closed when it has, could not, or stays
}

// run is the activation of an agent on this node. The zero value is that of any other agent.
type run struct {
	directory.Entry                 // its number is Since, greater than that of each earlier run of the id; First is not zero
	leaving         bool            // it leaves this node, or its memory
	before          directory.Entry // of the run of another node that this one has followed; it may stand for a while
}

// followed reports whether an entry is of the run before, or of an earlier one of that node.
func (r run) followed(e directory.Entry) bool {
	return e.Owner == r.before.Owner && e.Since <= r.before.Since
}

// retired is an agent that has stopped, to be started again somewhere.
type retired struct {
	*actors.Reservation
	state []byte
	ran   bool // it was in memory
}

func newPlacer(n *Mesh) *placer {
	p := &placer{
		node: n, room: make(chan struct{}, movers), kinds: make(map[string]*kind), active: make(map[performatives.AgentID]*activation),
	}
	p.ctx, p.end = context.WithCancel(context.Background()) //nolint:forbidigo // it ends with the node
	p.moves, p.hurry = context.WithCancel(p.ctx)
	p.offers, p.stopOffers = context.WithCancel(p.ctx)
	for range movers {
		p.room <- struct{}{}
	}
	return p
}

// drain ends the hosting of agents on this node, and tells the other nodes.
func (p *placer) drain() {
	p.draining.Store(true)
	_, kinds := p.placed()
	for _, k := range kinds {
		if k.hosts {
			p.node.cluster.hosting(k.name, false)
		}
	}
}

// pick returns which node is to run an agent, of those but except; nil stands for none.
func (p *placer) pick(id performatives.AgentID, except ...*nodeLink) (at route.Host) {
	name := placement.KindOf(id)
	k, here := p.kindOf(id)
	hosts := p.hosts(name)
	if k == nil && len(hosts) == 0 || k != nil && k.Singleton != (id.Fold() == performatives.AgentID(name)) || namesHosts(id) {
		return at
	}
	maps.DeleteFunc(hosts, func(_ string, l *nodeLink) bool {
		return l != nil && slices.ContainsFunc(except, func(other *nodeLink) bool { return other != nil && other.peer == l.peer })
	})
	first := placement.Pick(id, slices.Collect(maps.Keys(hosts)))
	return route.Host{Placed: true, May: here, Here: here && first == p.node.Name(), Link: way(hosts[first])}
}

// hosts returns the links to the nodes that host a kind, by their names: nil for this node.
func (p *placer) hosts(kind string) map[string]*nodeLink {
	hosts, c := make(map[string]*nodeLink), p.node.cluster
	c.mu.Lock()
	entries := c.replica.Lookup(hostEntry(kind))
	c.mu.Unlock()
	for _, l := range *c.current.Load() {
		if slices.ContainsFunc(entries, func(e directory.Entry) bool { return e.Hosts && e.Owner == l.peer }) {
			hosts[l.peer.Name] = l
		}
	}
	if _, here := p.kindOf(performatives.AgentID(kind)); here {
		hosts[p.node.Name()] = nil
	}
	return hosts
}

// Hosts returns the names of the nodes that host a kind, this one included, sorted: those that are
// known to live.
func (n *Mesh) Hosts(kind string) []string {
	return slices.Sorted(maps.Keys(n.placer.hosts(placement.KindOf(performatives.AgentID(kind)))))
}

// kindOf returns the kind of an agent, and whether this node hosts it; nil if it does not know it.
func (p *placer) kindOf(id performatives.AgentID) (k *kind, hosted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k = p.kinds[placement.KindOf(id)]
	return k, k != nil && k.hosts && !p.draining.Load()
}

// maxReroutes is how often a message is passed on, at most, that comes back.
const maxReroutes = 4 * route.MaxForwards

// reroute routes a message for a placed agent anew that has not reached the node where it was, now
// or in a while. It calls giveUp if that fails. It reports false if the message is not for a placed
// agent, or is for a run that has ended.
func (p *placer) reroute(m *performatives.Message, giveUp func(error)) bool {
	at := p.pick(m.Receiver())
	if at.Link == nil && !at.Here || m.Forwards() >= maxReroutes || !route.Opens(m) {
		return false
	}
	p.node.cluster.heard.unsent(m.Receiver())
	p.routeAgain(m, giveUp)
	return true
}

// routeAgain routes a message that has come back from another node.
func (p *placer) routeAgain(m *performatives.Message, giveUp func(error)) {
	if err := p.node.route(transit{m: m.Forward(), giveUp: giveUp}, view{p.node}.Entry(m.Receiver())); err != nil {
		giveUp(err)
	}
}

// activate starts an agent of a kind of this node here. m is its first message, nil for a
// singleton.
func (p *placer) activate(id performatives.AgentID, m *performatives.Message) error {
	k, _ := p.kindOf(id)
	if members := max(1, len(p.node.Members())); members < k.MinMembers {
		return fmt.Errorf("the node %s sees %d members of the cluster, and the kind %s needs %d", p.node.Name(), members, k.name, k.MinMembers)
	}
	v, a, err := p.reserve(k, id, directory.Entry{})
	if err != nil {
		return err
	}
	if m != nil {
		_ = v.Deliver(m) // it has room for one
	}
	p.start(a, retired{Reservation: v})
	return nil
}

// reserve begins the activation of an agent, after the run of an entry of another node: the zero
// value if there is none. If the entry has a first run, this one continues it.
func (p *placer) reserve(k *kind, id performatives.AgentID, after directory.Entry) (*actors.Reservation, *activation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draining.Load() {
		return nil, nil, actors.ErrStopped
	}
	v, err := p.node.System.Reserve(id)
	if err != nil {
		return nil, nil, err
	}
	number := numberAfter(after.Since)
	own := directory.Entry{Agent: id, Owner: cluster.Incarnation{Name: p.node.Name()}, Placed: true, Since: number, First: cmp.Or(after.First, number)}
	a := &activation{kind: k, run: run{Entry: own, before: after}, busy: make(chan struct{})}
	p.active[id.Fold()] = a
	return v, a, nil
}

// numberAfter returns the number of a run that begins now, after another one.
func numberAfter(last uint64) uint64 { return max(uint64(time.Now().UnixMicro()), last+1) }

// start starts an agent whose id is reserved, with the state of an earlier run.
func (p *placer) start(a *activation, r retired) {
	number := p.runOf(a.Agent).Since
	p.node.cluster.agentChanged(a.Agent) // the others know as soon as can be
	p.node.System.Work(func() {
		spec := actors.Spec{ID: a.Agent, New: func() actors.Agent { return a.kind.New(a.Agent) }, State: r.state, Activation: number}
		for _, opt := range a.kind.Spawn {
			opt(&spec)
		}
		self, err := r.Spawn(context.Background(), spec) //nolint:forbidigo // bounded by actors.MaxStartTime
		if err != nil {
			p.node.System.Logger().Error("an agent was not activated, and its state is lost", "agent", a.Agent, "state", len(r.state), "err", err)
			p.remove(a)
			r.Release(func(m *performatives.Message) error {
				return m.Refused(performatives.CodeFailed, "the agent could not be activated")
			})
			p.node.cluster.agentChanged(a.Agent)
			return
		}
		p.node.Events.AgentActivated(a.Agent, number)
		p.watchIdle(a, self)
		p.free(a)
	})
}

// remove forgets an activation, which is busy with its end.
func (p *placer) remove(a *activation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active[a.Agent.Fold()] == a {
		p.forgetLocked(a)
	}
	a.freeLocked()
}

// forgetLocked forgets an activation. That of a singleton may be for this node again.
func (p *placer) forgetLocked(a *activation) {
	delete(p.active, a.Agent.Fold())
	if a.kind.Singleton {
		p.retryLater()
	}
}

// free notes that an agent has started, or stays.
func (p *placer) free(a *activation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.freeLocked()
}

// freeLocked ends what an agent was busy with. It is called with placer.mu.
func (a *activation) freeLocked() {
	close(a.busy)
	a.busy, a.leaving = nil, false
}

// leaves reports whether an agent is about to leave this node, or its memory.
func (p *placer) leaves(id performatives.AgentID) bool { return p.runOf(id).leaving }

// agentStopped forgets an agent that has stopped by itself. Its id may be reserved again by now.
func (p *placer) agentStopped(id performatives.AgentID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.active[id.Fold()]
	if _, here := p.node.System.Find(id); !here && a != nil && !a.leaving {
		p.forgetLocked(a)
	}
}

// retryTime is how long a singleton waits for its next start: after it has stopped, could not
// start, or was found on a node that has not joined yet.
const retryTime = 5 * time.Second

// retryLater starts the singletons that do not run, after a while.
func (p *placer) retryLater() { p.node.System.AfterFunc(retryTime, p.changed) }

// runOf returns the run of an agent on this node.
func (p *placer) runOf(id performatives.AgentID) run {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.active[id.Fold()]; a != nil {
		return a.run
	}
	return run{}
}

// settleTime is how long the placer waits for further changes before it moves agents.
const settleTime = 500 * time.Millisecond

// changed has the placement compared with the members, soon.
func (p *placer) changed() {
	if !p.draining.Load() {
		p.settles.after(settleTime, p.node.System, func() { p.node.System.Work(p.settle) })
	}
}

// timer calls a function after a while, once, however often it is to do so meanwhile.
type timer struct{ runs atomic.Bool }

func (t *timer) after(d time.Duration, s *actors.System, fn func()) {
	if !t.runs.Swap(true) {
		s.AfterFunc(d, func() {
			t.runs.Store(false)
			fn()
		})
	}
}

// placed returns the activations in the order of their ids, and the kinds in that of their names.
func (p *placer) placed() ([]*activation, []*kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.active), func(a, b *activation) int { return cmp.Compare(a.Agent, b.Agent) }),
		slices.SortedFunc(maps.Values(p.kinds), func(a, b *kind) int { return cmp.Compare(a.name, b.name) })
}

// settle moves the agents that another node is to run, and activates the singletons that this one
// is to run.
func (p *placer) settle() {
	active, kinds := p.placed()
	for _, a := range active {
		if to := p.pick(a.Agent).Link; to != nil && !to.Ended() && !p.leaves(a.Agent) {
			p.node.System.Work(func() {
				if err := p.move(a); err != nil {
					p.node.System.Logger().Warn("an agent was not handed over", "agent", a.Agent, "err", err)
				}
			})
		}
	}
	for _, k := range kinds {
		id := performatives.AgentID(k.name)
		switch _, runs := p.node.System.Find(id); {
		case runs || !p.pick(id).Here: // nowhere unless the kind is a singleton
		case view{p.node}.RunsElsewhere(id): // until that node joins, or is forgotten
			p.retryLater()
		default:
			if err := p.activate(id, nil); err != nil && !errors.Is(err, actors.ErrExists) {
				p.node.System.Logger().Warn("a singleton was not activated", "agent", id, "err", err)
			}
		}
	}
}
