package codons

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Work is a job of the responder that runs on a goroutine of its own.
type Work struct {
	// Job is the name of the job in the table.
	Job string
	// Do is called on the conversation's actor and must not block. It returns the handler
	// function, which runs on a goroutine of its own and may block. That returns the last
	// command of the job. Its ctx ends on CANCEL, at the deadline and at the end of the
	// conversation.
	Do func(s Side) func(ctx context.Context, h *Handler) Command
	// Considers says that the job may turn the request down. An expired request is then
	// refused and the job does not run.
	Considers bool
	// Holds names the last commands after which the conversation keeps its slot, because the
	// agent is bound although no job runs. Nil means that the slot is always released.
	Holds []string
}

// Consideration is a job in which the agent decides about a request on its own actor. So it
// may read and change the agent's fields, and it must not block. An expired request, and a
// request for which there is no slot, is refused and the job does not run.
type Consideration struct {
	// Job is the name of the job in the table.
	Job string
	// Do is called on the conversation's actor, or when the conversation opens, and must not
	// block. It returns the decision function, which runs on the agent's actor. No
	// conversation begins with the ctx of a decision: see [ErrDeciding].
	Do func(s Side) func(ctx context.Context, request *performatives.Message) Command
	// Holds names the commands that take the request on. After them the conversation keeps
	// its slot.
	Holds []string
}

// Responder is the responder of one agent in one codon: it opens the conversations and runs
// their jobs. [NewResponder] makes it. Its methods run on the agent's actor.
type Responder struct {
	limiter
	times     Times
	agent     actors.Self
	codon     *Codon
	works     []Work
	decision  *Consideration
	refusal   string
	longLived bool
	ontology  func(m *performatives.Message) string // nil for none
}

// ResponderOptions configures a [Responder].
type ResponderOptions struct {
	// Codon is the codon that the agent answers. It is required.
	Codon *Codon
	// Times are the deadline and the grace of the handlers. Zero means the defaults.
	Times Times
	// Works are the jobs that run on goroutines of their own.
	Works []Work
	// Consider is the job in which the agent decides about a request. Nil for none.
	Consider *Consideration
	// Refusal is the command that turns down an expired request and a request without a slot.
	// Empty means [standard.CommandRefuse].
	Refusal string
	// LongLived says that the conversations have no deadline.
	LongLived bool
	// Ontology returns the ontology of an opening message that names none: the answers to it have
	// the ontology that they would have for a request in this one (addenda §7). It runs on the
	// agent's actor and must not block. Nil means no ontology.
	Ontology func(m *performatives.Message) string
}

// NewResponder returns the responder of an agent in one codon. It reads the limit of a
// [TaskLimiter] agent.
func NewResponder(self actors.Self, agent actors.Agent, o ResponderOptions) *Responder {
	return &Responder{
		limiter: newLimiter(agent), times: o.Times.withDefaults(), agent: self, codon: o.Codon,
		works: o.Works, decision: o.Consider, refusal: cmp.Or(o.Refusal, standard.CommandRefuse), longLived: o.LongLived,
		ontology: o.Ontology,
	}
}

// Times returns the deadline and the grace of the handlers, with the defaults filled in.
func (r *Responder) Times() Times { return r.times }

// Deadline returns the time in which a request without a ReplyBy must have been answered. It is
// zero for long-lived conversations: see [actors.TimedResponder].
func (r *Responder) Deadline() time.Duration {
	if r.longLived {
		return 0
	}
	return r.times.Deadline
}

// Open returns the conversation that m opens. It runs on the agent's actor, so it also makes
// the decision about the request where the codon has a [Consideration].
func (r *Responder) Open(m *performatives.Message) actors.Conversation {
	base := &ResponderSide{responder: r}
	side := r.codon.responderSide(base)
	c := newConversation(r.agent, r.codon, machine.Responder, m, side)
	c.longLived = r.longLived
	if r.ontology != nil && m.Ontology() == "" {
		c.ontology = r.ontology(m)
	}
	if r.decision != nil && m.Performative() != performatives.ActCancel {
		d := base.decide(c, r.decision.Do(side), m)
		base.decided = &d
	}
	return c
}

// ResponderSide is the [Side] of a responder in one conversation. The sides of codons embed it
// and override the methods that differ. Its methods run on the conversation's actor.
type ResponderSide struct {
	responder *Responder           // nil while a conversation is rebuilt
	decided   *Command             // the decision made when the conversation opened; nil once it was taken
	handler   *Handler             // the latest; nil before the first
	slot      atomic.Pointer[slot] // held while no handler runs
}

// Tag returns the empty tag.
func (s *ResponderSide) Tag(*Value, *performatives.Message) string { return "" }

// Reduce does nothing.
func (s *ResponderSide) Reduce(*Value, *Input) {}

// Data returns nil, because Reduce keeps nothing.
func (s *ResponderSide) Data() any { return nil }

// Compose returns the content of the event's command, converted to the payload of the act
// where that has another form. It makes the receipt, and the FAILURE of the table itself.
func (s *ResponderSide) Compose(v *Value, f machine.Effect, e *Input) any {
	switch {
	case f.Name == standard.TagReceipt:
		return receipt
	case f.Act == performatives.ActFailure && (e.Data == nil || e.hasCode()):
		return v.failureOf(e)
	case f.Act == performatives.ActFailure, f.Act == performatives.ActTaskReject:
		return refusalAs(f.Act, e.Data)
	}
	return e.Data
}

// Timer returns the grace for [machine.TimerGrace], the duration of [Service.WithTimer] or of the
// table for a timer of the table's own, and for any other timer the time until the request's
// deadline.
func (s *ResponderSide) Timer(v *Value, name string, now time.Time) time.Duration {
	t := s.Times()
	if name == machine.TimerGrace {
		return t.Grace
	}
	if name != machine.TimerDeadline {
		if d := v.codon.after(machine.Responder, name, t.own); d > 0 {
			return d
		}
	}
	return t.until(v.request, now).Sub(now)
}

// Times returns the times of the responder. While a conversation is rebuilt they are the
// defaults.
func (s *ResponderSide) Times() Times {
	if s.responder == nil {
		return Times{}.withDefaults()
	}
	return s.responder.times
}

// Send releases the slot before the peer gets the last message: it may send its next request
// at once.
func (s *ResponderSide) Send(c *Conversation, _ *performatives.Message) {
	if c.Ended() {
		s.releaseSlot()
	}
}

// Run starts a job of the table: a [Work], the [Consideration] or [standard.JobChildren]. A job
// without code is logged as an error.
func (s *ResponderSide) Run(c *Conversation, job string) {
	if job == standard.JobChildren {
		c.Happen(Command{Name: c.work.quiet()})
		return
	}
	if d := s.responder.decision; d != nil && d.Job == job {
		s.runDecision(c)
		return
	}
	for i := range s.responder.works {
		if w := &s.responder.works[i]; w.Job == job {
			s.start(c, w)
			return
		}
	}
	c.agent.Logger().Error("job without code", "conversation", string(c.key.ID), "job", job)
}

// start runs a job on a goroutine of its own, or refuses the request when it has expired or
// no slot is free.
func (s *ResponderSide) start(c *Conversation, w *Work) {
	if w.Considers && c.request.Expired(c.event.At) {
		s.releaseSlot()
		s.refuse(c, &performatives.Refusal{Code: performatives.CodeExpired})
		return
	}
	held := s.slot.Swap(nil)
	var busy *performatives.Refusal
	if held == nil {
		held, busy = s.responder.admit(c.request, s.responder.times.until(c.request, c.event.At))
	}
	if busy != nil {
		if s.responder.decision == nil && (s.handler == nil || s.handler.request != c.request) { // no job has run
			c.agent.ForgetRequest(c.request)
		}
		s.refuse(c, busy)
		return
	}
	h, err := newHandler(c, s.responder.times, held, w.Job, w.Do(c.side))
	if err != nil {
		held.release()
		c.Happen(TurnDown(err))
		return
	}
	if len(w.Holds) > 0 {
		h.hold = s.holds(w.Holds)
	}
	s.handler = h
	held.permit.Work(h.ctx, (*admitted)(h))
}

// holds returns a function that reports whether a handler leaves its slot to the
// conversation, and does so.
func (s *ResponderSide) holds(after []string) func(*Handler, string) bool {
	return func(h *Handler, command string) bool {
		if !slices.Contains(after, command) {
			return false
		}
		s.slot.Store(h.slot)
		if h.conversation.Over() { // Ended may have run before the slot was stored
			s.releaseSlot()
		}
		return true
	}
}

func (s *ResponderSide) refuse(c *Conversation, why *performatives.Refusal) {
	c.Happen(s.responder.refuse(why))
}

func (r *Responder) refuse(of *performatives.Refusal) Command {
	if of.Code == performatives.CodeBusy {
		r.agent.NoteBusy()
	}
	why := *of
	why.Act = performatives.ActRefuse
	if r.codon.contents[r.refusal] == reflect.TypeFor[performatives.TaskReject]() {
		why.Act = performatives.ActTaskReject
	}
	return Command{r.refusal, why.Payload(nil)}
}

// Decided returns the decision that was made when the conversation opened. It may be called
// once, by a side that overrides Run.
func (s *ResponderSide) Decided() Command {
	d := *s.decided
	s.decided = nil
	return d
}

// runDecision takes the decision that was made when the conversation opened. For a further
// request it runs the decision on the agent's actor.
func (s *ResponderSide) runDecision(c *Conversation) {
	if s.decided != nil {
		c.Happen(s.Decided())
		return
	}
	request, do := c.request, s.responder.decision.Do(c.side)
	err := s.responder.agent.Later(func(actors.Agent) {
		if c.Over() {
			return
		}
		d := Command{standard.CommandFail, performatives.Failure{ErrorCode: performatives.CodeInternal, ErrorText: "the agent failed"}}
		defer func() { // also when the agent panics: its supervisor may restart it much later
			c.Tell(d)
			if c.Over() { // Ended may have run before the slot was stored
				s.releaseSlot()
			}
		}()
		d = s.decide(c, do, request)
	})
	if err != nil {
		code := performatives.CodeBusy
		if errors.Is(err, actors.ErrStopped) {
			code = performatives.CodeStopped
		}
		c.agent.ForgetRequest(request)
		s.refuse(c, &performatives.Refusal{Code: code})
	}
}

// decide runs the agent's decision about a request, on the agent's actor. A slot is held for
// a request that was taken on, and for no other.
func (s *ResponderSide) decide(c *Conversation, do func(context.Context, *performatives.Message) Command, m *performatives.Message) (d Command) {
	r := s.responder
	now := time.Now()
	if m.Expired(now) {
		return r.refuse(&performatives.Refusal{Code: performatives.CodeExpired})
	}
	deadline := r.times.until(m, now)
	held, busy := r.admit(m, deadline)
	if busy != nil {
		r.agent.ForgetRequest(m)
		return r.refuse(busy)
	}
	defer func() { // also when the agent panics
		if slices.Contains(r.decision.Holds, d.Name) {
			s.slot.Store(held)
		} else {
			held.release()
		}
		if v := recover(); v != nil {
			err := panicOf(v, debug.Stack())
			c.failed(lifecycle.JobFailed{Job: r.decision.Job, Err: err})
			panic(err) // the agent fails, too
		}
	}()
	ctx := &decisionContext{agent: r.agent, deadline: deadline, request: m, deepest: r.times.Depth}
	defer ctx.end()
	return do(ctx, m)
}

// Stop ends the context of the latest handler. It does not wait for the handler to return.
func (s *ResponderSide) Stop(c *Conversation, _ string) {
	if s.handler != nil { // nil when the agent stops while it decides
		s.handler.cancel(stopCause(c.event.On))
	}
}

// Report does nothing.
func (s *ResponderSide) Report(*Conversation, string, *performatives.Message) {}

// Ended releases the slot, ends the context of a handler that still runs, and gives it the
// grace to return. A handler that was cancelled has already had its grace.
func (s *ResponderSide) Ended(c *Conversation, _ *performatives.Message) {
	s.releaseSlot()
	if s.handler == nil {
		return
	}
	grace := s.Times().Grace
	if c.cancel != nil {
		grace = 0
	}
	s.handler.expire(grace)
}

// Abandoned releases the slot.
func (s *ResponderSide) Abandoned(*Conversation, error) { s.releaseSlot() }

// releaseSlot releases the slot that the conversation holds, if it holds one.
func (s *ResponderSide) releaseSlot() { s.slot.Swap(nil).release() }

// AnswerWith returns the responder of an agent in a codon made of an [standard.Exchange]. answer is
// its one job: see [Work.Do].
func AnswerWith(self actors.Self, agent actors.Agent, c *Codon, t Times, answer func(ctx context.Context, h *Handler) Command) *Responder {
	work := Work{Job: standard.JobAnswer, Considers: true, Do: func(Side) func(context.Context, *Handler) Command { return answer }}
	return NewResponder(self, agent, ResponderOptions{Codon: c, Times: t, Works: []Work{work}})
}
