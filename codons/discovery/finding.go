package discovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// jobs are the jobs of [FindTable], and their times. They are called on the goroutine of the run.
type jobs struct {
	search   func() ([]performatives.AgentID, error)      // nil where the agents are known
	asks     string                                       // the command of [jobChoose] for a next agent
	delegate func(to performatives.AgentID) machine.State // asks an agent; it returns the end state, or none while the conversation goes on
	outcome  func(to performatives.AgentID) machine.State // returns the end state once finding.done is closed
	withdraw func()                                       // cancels the conversation
	share    func() time.Duration                         // of the agent that is asked
	grace    time.Duration
}

// finding is one run of [FindTable]. It belongs to the goroutine of its caller.
type finding struct {
	jobs
	ctx      context.Context //nolint:containedctx // the run is within the call that has it
	system   *actors.System
	solo     *codons.Solo
	to       []performatives.AgentID
	at       int             // the agent that is asked, as an index into to; -1 before the first
	said     string          // the last command of a job that has returned; empty for none
	over     <-chan struct{} // ctx.Done() until its end was handled; then nil
	accepted <-chan struct{} // has a value once the agent has accepted
	done     <-chan struct{} // closed at the end of the conversation with the agent
	timers   map[string]timer
}

// timer is a timer of the table that is armed.
type timer struct {
	due  <-chan struct{}
	stop func() bool
}

func newFinding(ctx context.Context, self actors.Self, to []performatives.AgentID, j jobs) *finding {
	return &finding{
		jobs: j, ctx: ctx, system: self.System(), solo: codons.NewSolo(FindCodon, self, ""), to: to, at: -1,
		over: ctx.Done(), timers: make(map[string]timer),
	}
}

// run takes the first command and the events that follow. It returns the end state.
func (f *finding) run(first string) machine.State {
	for f.step(machine.Commanded(first)); !f.solo.Ended(); {
		f.step(f.next())
	}
	for name := range f.timers {
		f.disarm(name)
	}
	return f.solo.State()
}

// step takes an event and carries out its effects. The table has a row for each event of a run,
// so an error of Take is a mistake of this package.
func (f *finding) step(on machine.Symbol) {
	var content any
	if on == machine.Commanded(f.asks) {
		content = f.to[f.at]
	}
	effects, err := f.solo.Take(on, content)
	if err != nil {
		panic(err)
	}
	for _, e := range effects {
		switch e.Kind { //nolint:exhaustive // no message is sent
		case machine.EffectRun:
			f.said = f.begin(e.Name)
		case machine.EffectStop:
			if e.Name == jobDelegate { // the others have returned
				f.withdraw()
			}
		case machine.EffectArm:
			f.arm(e.Name)
		case machine.EffectDisarm:
			f.disarm(e.Name)
		}
	}
}

// begin starts a job. It returns the last command of a job that has returned.
func (f *finding) begin(job string) string {
	switch job {
	case jobSearch:
		var err error
		if f.to, err = f.search(); err != nil {
			return commandImpossible
		}
		return commandFound
	case jobChoose:
		if f.at++; f.at >= len(f.to) {
			return commandNone
		}
		return f.asks
	}
	f.done, f.accepted = nil, nil
	return string(f.delegate(f.to[f.at]))
}

// next waits for the next event. The end of ctx comes first, so that no agent is asked after it,
// and an acceptance comes before the end of its conversation.
func (f *finding) next() machine.Symbol {
	for {
		if on, ok := f.due(); ok {
			return on
		}
		turn := f.system.Turn()
		select {
		case <-f.over:
		case <-f.accepted:
			f.said = commandAccepted // the value is taken
		case <-f.done:
		case <-f.timers[timerShare].due:
		case <-f.timers[machine.TimerGrace].due:
		}
		turn()
	}
}

// due returns the event that is due, if there is one.
func (f *finding) due() (machine.Symbol, bool) {
	if f.over != nil && f.ctx.Err() != nil {
		f.over = nil
		if errors.Is(f.ctx.Err(), context.DeadlineExceeded) {
			return machine.Timeout(machine.TimerDeadline), true
		}
		return machine.Commanded(standard.CommandCancel), true
	}
	if said := f.said; said != "" {
		f.said = ""
		return machine.Commanded(said), true
	}
	switch {
	case closed(f.accepted):
		return machine.Commanded(commandAccepted), true
	case closed(f.done):
		f.done = nil
		return machine.Commanded(string(f.outcome(f.to[f.at]))), true
	}
	for _, name := range []string{timerShare, machine.TimerGrace} {
		if closed(f.timers[name].due) {
			delete(f.timers, name)
			return machine.Timeout(name), true
		}
	}
	return machine.Symbol{}, false
}

// closed reports whether c is closed, or has a value, which it takes.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// arm starts a timer. That of the deadline is ctx's.
func (f *finding) arm(name string) {
	after := f.grace
	switch name {
	case machine.TimerDeadline:
		return
	case timerShare:
		after = f.share()
	}
	due := make(chan struct{})
	f.timers[name] = timer{due, f.system.AfterFunc(after, func() { close(due) })}
}

func (f *finding) disarm(name string) {
	if name == machine.TimerDeadline {
		f.over = nil
		return
	}
	if t, ok := f.timers[name]; ok {
		t.stop()
		delete(f.timers, name)
	}
}

// InTurn asks agents one after the other until one has taken the work on, for a mediator that gives
// each all the time left: the state waiting of [FindTable]. ask asks one agent, blocks until the
// conversation has ended, and returns its end state as [EndState] does; it panics for another
// state. No agent is asked after the end of ctx. The error is [codons.ErrNoParty].
func InTurn(ctx context.Context, p codons.Party, to []performatives.AgentID, ask func(to performatives.AgentID) machine.State) error {
	return inTurn(ctx, p, to, commandWait, ask)
}

// UntilDone is [InTurn] for work that is safe to repeat: the state trying of [FindTable]. Each
// end but a result is followed by the next agent. ask gives the agent a share of the time.
func UntilDone(ctx context.Context, p codons.Party, to []performatives.AgentID, ask func(to performatives.AgentID) machine.State) error {
	return inTurn(ctx, p, to, commandTry, ask)
}

func inTurn(ctx context.Context, p codons.Party, to []performatives.AgentID, asks string, ask func(to performatives.AgentID) machine.State) error {
	self, err := codons.SelfOf(p)
	if err != nil {
		return err
	}
	f := newFinding(ctx, self, to, jobs{asks: asks, delegate: ask, withdraw: func() {}})
	f.run(machine.CommandStart)
	return nil
}

// EndState returns the end state of a conversation with an agent by its error, an
// [*codons.EndError] or nil: completed, rejected, refused, not understood, timed out, cancelled,
// failed or abandoned. A conversation whose answer could not be read has failed. One that had no
// time to begin is timed out. Any other error means that no conversation can begin: abandoned.
func EndState(err error) machine.State {
	var end *codons.EndError
	switch {
	case err == nil:
		return standard.StateCompleted
	case !errors.As(err, &end):
		return standard.StateAbandoned
	case end.State == standard.StateAbandoned && end.Refusal.Code == performatives.CodeExpired:
		return standard.StateTimedOut
	case slices.Contains(failures, end.State):
		return end.State
	}
	return standard.StateFailed
}

// side is the pure side of a [finding].
type side struct {
	codons.InitiatorSide
	asked []performatives.AgentID // in order
}

// Reduce keeps the agents that were asked.
func (s *side) Reduce(_ *codons.Value, e *codons.Input) {
	if to, ok := e.Data.(performatives.AgentID); ok {
		s.asked = append(s.asked, to)
	}
}

// Data returns the agents that were asked.
func (s *side) Data() any { return slices.Clone(s.asked) }

// Ended does nothing, as a run has no conversation actor.
func (s *side) Ended(*codons.Conversation, *performatives.Message) {}

// Timer returns [codons.Never]: the times are those of the run, and not recorded.
func (s *side) Timer(*codons.Value, string, time.Time) time.Duration { return codons.Never }
