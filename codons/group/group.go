package group

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
)

// Group runs a [machine.Coordination]: it owns the conversations of one table that one party leads
// at a time with several peers. The codon's [Decider] makes the choices that the rules leave open.
// Each conversation is an [codons.InitiatorSide] with a side of its own, and has no data of the
// others.
//
//	// decide returns one command for each member, in the order of Begin; the zero Command for a
//	// member that the rule is not about.
//	g := group.New(rules, decide)
//	for _, to := range peers {
//		s := &pairSide{…}
//		if err := s.Prepare(ctx, self, opening); err != nil {
//			return g.GiveUp(err)
//		}
//		if err := g.Begin(ctx, self, &s.Initiator, s); err != nil {
//			return g.GiveUp(err)
//		}
//	}
//	g.Start(ctx, self)
//	<-g.Done() // every member has ended
//
// A rule is never about [machine.Idle], in which a conversation takes no command yet. A group
// ends when all its members have ended. All members begin with the same ctx. Its cancellation
// withdraws each member, and so does [Group.Cancel]. A decision may need more than the states
// of the members, such as their proposals. Their sides record such data in Reduce, under a
// lock of the codon's own: Reduce runs before the group learns of the step.
//
// [Group.Begin], [Group.GiveUp] and [Group.Start] are called by one goroutine. The other
// methods are safe for concurrent use.
type Group struct {
	rules  machine.Coordination
	decide Decider
	done   chan struct{} // closed when all members have ended and no decision runs

	mu        sync.Mutex
	members   []*codons.InitiatorSide
	states    []machine.State // the latest known state of each member
	pending   []string        // the command on its way to each member; empty for none
	err       error           // the fault of a decision
	cancelled bool            // no more decisions are made
	changed   chan struct{}   // holds a token after a change that run has not seen yet
}

// Decider chooses the command of each member where a rule leaves that open. at are the states
// of the members, in the order of Begin. It runs on a goroutine of its own, one call at a time,
// and may block. ctx ends with the caller's ctx and when there is no decision left to make. An
// error withdraws all members, and so do a panic and a decision that the rule does not allow.
type Decider func(ctx context.Context, r *machine.Rule, at []machine.State) ([]codons.Command, error)

// errUndecided is the error of a decision whose code panicked.
var errUndecided = errors.New("group: the decision panicked")

// New returns a group without members.
func New(rules machine.Coordination, decide Decider) *Group {
	return &Group{rules: rules, decide: decide, done: make(chan struct{}), changed: make(chan struct{}, 1)}
}

// Done is closed when all members have ended and no decision runs.
func (g *Group) Done() <-chan struct{} { return g.done }

// Begin adds a member and starts its conversation after [codons.InitiatorSide.Prepare]. s is the
// side that embeds the member. It does not wait for the conversation. With an error, which is that
// of [codons.InitiatorSide.Begin], the member is not added.
func (g *Group) Begin(ctx context.Context, self actors.Self, member *codons.InitiatorSide, s codons.Side) error {
	g.mu.Lock()
	i := len(g.members)
	g.members = append(g.members, member)
	g.states, g.pending = append(g.states, machine.Idle), append(g.pending, "")
	g.mu.Unlock()
	member.Watch(func(on machine.Symbol, at machine.State) { g.moved(i, member, on, at) })
	if err := member.Begin(ctx, self, s); err != nil {
		g.mu.Lock()
		g.members, g.states, g.pending = g.members[:i], g.states[:i], g.pending[:i]
		g.mu.Unlock()
		return err
	}
	return nil
}

// GiveUp withdraws the members, blocks until they have ended, and returns err. It is called in
// place of Start.
func (g *Group) GiveUp(err error) error {
	g.Cancel(err)
	for _, a := range g.members {
		a.Await()
	}
	close(g.done)
	return err
}

// Start begins the decisions and returns at once. No member may be added afterwards.
func (g *Group) Start(ctx context.Context, self actors.Self) {
	self.System().Work(func() { g.run(ctx, self) })
}

// Cancel withdraws all members with a cause and ends the decisions. It does not wait for the
// ends of the members.
func (g *Group) Cancel(cause error) {
	g.mu.Lock()
	members := g.members
	g.cancelled = true
	g.mu.Unlock()
	for _, a := range members {
		a.Withdraw(cause)
	}
}

// run makes the decisions that are due until all members have ended.
func (g *Group) run(ctx context.Context, self actors.Self) {
	defer close(g.done)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(codons.ErrEnded)
	turn := self.System().Turn()
	for {
		states, busy, over := g.look()
		if over {
			return
		}
		if rule, due := g.rules.Due(states); due && !busy && g.deciding(ctx) {
			g.carryOut(ctx, self, rule, states, turn)
			continue
		}
		<-g.changed
		turn()
	}
}

// deciding reports whether decisions are still wanted.
func (g *Group) deciding(ctx context.Context) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.cancelled && ctx.Err() == nil
}

// look returns the states of the members, whether a command is on its way to one, and whether
// all have ended.
func (g *Group) look() (states []machine.State, busy, over bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	over = true
	for i, s := range g.states {
		busy = busy || g.pending[i] != ""
		over = over && g.rules.Machine.Terminal(s)
	}
	return append(states, g.states...), busy, over
}

// carryOut has a rule decided, and sends the commands. It returns early when all members have
// ended.
func (g *Group) carryOut(ctx context.Context, self actors.Self, r *machine.Rule, states []machine.State, turn func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(codons.ErrEnded)
	decided := make(chan decision, 1)
	self.System().Work(func() { g.choose(ctx, r, states, decided) })
	for {
		<-g.changed
		turn()
		select {
		case d := <-decided:
			g.conclude(ctx, d)
			return
		default:
		}
		if _, _, over := g.look(); over {
			return
		}
	}
}

// conclude carries out a decision, unless the members are withdrawn or ctx has ended.
func (g *Group) conclude(ctx context.Context, d decision) {
	switch {
	case !g.deciding(ctx):
	case d.err != nil:
		g.fail(d.err)
	default:
		g.tell(d.orders)
	}
}

// decision is the result of a [Decider].
type decision struct {
	orders []codons.Command
	err    error
}

// choose calls the [Decider] and checks its commands. It sends a decision also when the Decider
// panics or ends its goroutine.
func (g *Group) choose(ctx context.Context, r *machine.Rule, states []machine.State, decided chan<- decision) {
	d := decision{err: errUndecided}
	defer func() {
		if v := recover(); v != nil || errors.Is(d.err, errUndecided) {
			g.members[0].Panicked("", v, debug.Stack())
		}
		decided <- d
		g.wake()
	}()
	orders, err := g.decide(ctx, r, states)
	if err == nil {
		err = r.Check(states, commandsOf(orders))
	}
	if err != nil {
		err = fmt.Errorf("group: %s: %w", g.rules.Name, err)
	}
	d = decision{orders, err}
}

func commandsOf(orders []codons.Command) []string {
	commands := make([]string, len(orders))
	for i, o := range orders {
		commands[i] = o.Name
	}
	return commands
}

// tell sends the members their commands. A member that has ended gets none.
func (g *Group) tell(orders []codons.Command) {
	g.mu.Lock()
	for i, o := range orders {
		if !g.rules.Machine.Terminal(g.states[i]) {
			g.pending[i] = o.Name
		}
	}
	g.mu.Unlock()
	for i, o := range orders {
		if o.Name != "" {
			g.members[i].Tell(o)
		}
	}
}

// moved is called after each step of a member, on the actor of its conversation. A member whose
// result could not be read has failed for the rules.
func (g *Group) moved(i int, member *codons.InitiatorSide, on machine.Symbol, at machine.State) {
	if g.rules.Machine.Terminal(at) && !standard.IsEnd(at) && member.Err() != nil {
		at = standard.StateFailed
	}
	g.mu.Lock()
	g.states[i] = at
	if on == machine.Commanded(g.pending[i]) || g.rules.Machine.Terminal(at) {
		g.pending[i] = ""
	}
	g.mu.Unlock()
	g.wake()
}

// wake has run check the members again.
func (g *Group) wake() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// fail ends the decisions and withdraws the members.
func (g *Group) fail(err error) {
	g.mu.Lock()
	g.err = err
	g.mu.Unlock()
	g.Cancel(err)
}

// Failed returns the error of the decision that made the group withdraw all its members, or nil if
// there was none.
func (g *Group) Failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}
