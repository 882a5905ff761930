package codons

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// coordinator is the live shell of a [machine.Coordination]: it owns the
// conversations that one party has at a time with many, all of one table, and has
// the caller's code decide what the rules leave open. Each conversation is an asker
// with a script, as if it were alone; none knows of the others.
//
// A codon of many responders uses it so:
//
//	g := newCoordinator(rules, func(ctx context.Context, r *machine.Rule, at []machine.State) ([]order, error) {
//		…one order per member, in the order in which they began; the zero order where r is not about it
//	})
//	for _, to := range peers {
//		s := &pairScript{asker: asker{options: o}}          // ended, payload, report as in any codon
//		if err := s.prepare(ctx, self, m, to, act, payload); err != nil {
//			return g.giveUp(err)
//		}
//		if err := g.begin(ctx, self, m, &s.asker, s); err != nil {
//			return g.giveUp(err)
//		}
//	}
//	g.start(ctx, self)
//	<-g.done                                                    // every member has ended; read their scripts
//
// What an order says is the command of the member's table, and the content of the
// act that this sends: the script's payload gets it as data. A rule is never about
// [machine.Idle], in which a conversation hears no command yet. The ends of a group
// need no rule of their own: it is over when each of its members is. All members
// are begun with the same ctx, whose cancellation withdraws each, and so does
// [coordinator.cancel]. What a decision needs to know of the members beyond their
// states, such as what they proposed, the scripts write under a lock of the codon's
// own before they enter the state: report runs before the coordinator is told.
type coordinator struct {
	rules  machine.Coordination
	decide decider
	done   chan struct{} // closed when all members have ended and no more is decided

	mu        sync.Mutex
	members   []*asker
	states    []machine.State // of each member, as it last told
	pending   []string        // the command that is on its way to each, empty for none
	err       error           // what was wrong with a decision
	cancelled bool            // nothing more is decided
	changed   chan struct{}   // holds a token when something has, since it was last looked at
}

// decider is the code that chooses what a rule leaves open: for each member its
// order. It runs on a goroutine of its own, one at a time. ctx ends with the
// caller's, and once there is nothing left to decide. An error withdraws all members,
// and so do a panic and a decision that the rule does not allow.
type decider func(ctx context.Context, r *machine.Rule, at []machine.State) ([]order, error)

// order is what one member is told; the zero order is nothing.
type order struct {
	command string
	data    any
}

// errUndecided is the end of the decisions by a panic of the caller's code.
var errUndecided = errors.New("codons: the decision panicked")

func newCoordinator(rules machine.Coordination, decide decider) *coordinator {
	return &coordinator{rules: rules, decide: decide, done: make(chan struct{}), changed: make(chan struct{}, 1)}
}

// begin adds a member and starts its conversation, whose opening act a.prepare has
// made. s is the script that embeds a. With an error it is no member.
func (g *coordinator) begin(ctx context.Context, self actors.Self, m *machine.Machine, a *asker, s script) error {
	g.mu.Lock()
	i := len(g.members)
	g.members = append(g.members, a)
	g.states, g.pending = append(g.states, machine.Idle), append(g.pending, "")
	g.mu.Unlock()
	a.watch = func(on machine.Symbol, at machine.State) { g.moved(i, on, at) }
	if err := a.begin(ctx, self, m, s); err != nil {
		g.mu.Lock()
		g.members, g.states, g.pending = g.members[:i], g.states[:i], g.pending[:i]
		g.mu.Unlock()
		return err
	}
	return nil
}

// giveUp withdraws the members that were begun, waits for their ends, and returns
// err. It takes the place of start.
func (g *coordinator) giveUp(err error) error {
	g.cancel(err)
	for _, a := range g.members {
		a.await()
	}
	close(g.done)
	return err
}

// start begins to decide. There are no more members from now on.
func (g *coordinator) start(ctx context.Context, self actors.Self) {
	self.System().Work(func() { g.run(ctx, self) })
}

// cancel withdraws all members, from any goroutine, and ends the decisions. It does
// not wait for the members' ends.
func (g *coordinator) cancel(cause error) {
	g.mu.Lock()
	members := g.members
	g.cancelled = true
	g.mu.Unlock()
	for _, a := range members {
		a.conversation.withdraw(cause)
	}
}

// run decides whatever is due until all members have ended.
func (g *coordinator) run(ctx context.Context, self actors.Self) {
	defer close(g.done)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(ErrEnded)
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

// deciding reports whether there still is someone who wants decisions.
func (g *coordinator) deciding(ctx context.Context) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.cancelled && ctx.Err() == nil
}

// look returns where the members stand, whether a command is on its way to one, and
// whether all have ended.
func (g *coordinator) look() (states []machine.State, busy, over bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	over = true
	for i, s := range g.states {
		busy = busy || g.pending[i] != ""
		over = over && g.rules.Machine.Terminal(s)
	}
	return append(states, g.states...), busy, over
}

// carryOut has a rule decided, and tells the members. It returns at once when there
// is no one left to tell.
func (g *coordinator) carryOut(ctx context.Context, self actors.Self, r *machine.Rule, states []machine.State, turn func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(ErrEnded)
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

// conclude does what was decided, unless the members are withdrawn, or out of time.
func (g *coordinator) conclude(ctx context.Context, d decision) {
	switch {
	case !g.deciding(ctx):
	case d.err != nil:
		g.fail(d.err)
	default:
		g.tell(d.orders)
	}
}

// decision is what a decider came to.
type decision struct {
	orders []order
	err    error
}

// choose asks the caller's code, and checks what it says. A decision comes of it
// also when that code panics or ends its goroutine.
func (g *coordinator) choose(ctx context.Context, r *machine.Rule, states []machine.State, decided chan<- decision) {
	d := decision{err: errUndecided}
	defer func() {
		if v := recover(); v != nil || errors.Is(d.err, errUndecided) {
			g.members[0].conversation.panicked(v, debug.Stack())
		}
		decided <- d
		g.wake()
	}()
	orders, err := g.decide(ctx, r, states)
	if err == nil {
		err = r.Check(states, commandsOf(orders))
	}
	if err != nil {
		err = fmt.Errorf("codons: %s: %w", g.rules.Name, err)
	}
	d = decision{orders, err}
}

func commandsOf(orders []order) []string {
	commands := make([]string, len(orders))
	for i, o := range orders {
		commands[i] = o.command
	}
	return commands
}

// tell sends the members their orders. One that has ended meanwhile takes none.
func (g *coordinator) tell(orders []order) {
	g.mu.Lock()
	for i, o := range orders {
		if !g.rules.Machine.Terminal(g.states[i]) {
			g.pending[i] = o.command
		}
	}
	g.mu.Unlock()
	for i, o := range orders {
		if o.command != "" {
			g.members[i].conversation.tell(o.command, o.data)
		}
	}
}

// moved is told of each step of a member, on the actor of its conversation. A result
// that makes no sense is to the rules what a failure is: nobody can use it.
func (g *coordinator) moved(i int, on machine.Symbol, at machine.State) {
	if at == stateCompleted && g.members[i].err != nil {
		at = stateFailed
	}
	g.mu.Lock()
	g.states[i] = at
	if on == machine.Command(g.pending[i]) || g.rules.Machine.Terminal(at) {
		g.pending[i] = ""
	}
	g.mu.Unlock()
	g.wake()
}

// wake has run look at the members again.
func (g *coordinator) wake() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// fail ends the decisions, and the members by their CANCEL.
func (g *coordinator) fail(err error) {
	g.mu.Lock()
	g.err = err
	g.mu.Unlock()
	g.cancel(err)
}

// failed is what was wrong with a decision, and made the end of all: mostly nil.
func (g *coordinator) failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}
