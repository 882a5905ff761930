package codons

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// End is the outcome of a conversation for its initiator.
type End struct {
	State   machine.State          // State is a terminal state of the codon's own rows.
	Message *performatives.Message // Message ended the conversation; nil where no message did.
}

// Ask opens a conversation of the codon and blocks until its end. content is the payload of
// the opening message. [On] and [OnReport] give the code for the jobs and reports of the
// initiator.
//
// The deadline of ctx, or else [DefaultDeadline] from now, is the ReplyBy of the opening
// message. When ctx is cancelled, the peer gets CANCEL, where the table has it. Ask then
// returns after the peer's receipt, at the latest after [WithGrace]. With the ctx of a
// handler, the conversation is a child of the handler's conversation.
//
// The error is an [*EndError] when the conversation ended in a state of the standard rows,
// such as refused, failed, cancelled or timed out. Any other error means that no
// conversation began: the content or an option is wrong, or the party has stopped. Ask must
// not be called on an agent's own actor.
func (c *Codon) Ask(ctx context.Context, p Party, to performatives.AgentID, content any, opts ...Option) (End, error) {
	o := NewOptions(opts...)
	return AgainIfBusy(ctx, p, &o, func(ctx context.Context) (End, error) {
		a, err := c.Start(ctx, p, to, content, opts...)
		if err != nil {
			return End{}, err
		}
		return a.Wait()
	})
}

// Start is [Codon.Ask] without the wait.
func (c *Codon) Start(ctx context.Context, p Party, to performatives.AgentID, content any, opts ...Option) (*Asked, error) {
	self, err := SelfOf(p)
	if err != nil {
		return nil, err
	}
	o := NewOptions(opts...)
	s := &askedSide{of: c, jobs: Settings[askedJobs](&o), values: context.WithoutCancel(ctx)}
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := c.checkOpeningContent(content); err != nil {
		return nil, err
	}
	act, name := c.opening(content)
	err = s.Start(ctx, self, Opening{Codon: c, To: to, Act: act, Type: name, Payload: content, Options: o}, s)
	if err != nil {
		return nil, err
	}
	s.asked = Asked{s.Handle(), s}
	return &s.asked, nil
}

// checkOpeningContent returns an error for a content that is none of the opening message types:
// the peer would not understand it. [performatives.Raw] may be any of them.
func (c *Codon) checkOpeningContent(content any) error {
	var want []string
	for _, name := range c.openings() {
		if c.Messages[name].holds(content) {
			return nil
		}
		want = append(want, fmt.Sprintf("%s (%s)", c.Messages[name].Payload, name))
	}
	if _, raw := content.(performatives.Raw); raw || want == nil {
		return nil
	}
	return fmt.Errorf("codons: %s: want %s as the content of the opening message, got %T", c.Name(), strings.Join(want, " or "), content)
}

// opening returns the act, and the message type, of the opening act with that content.
func (c *Codon) opening(content any) (performatives.Performative, string) {
	for _, name := range c.openings() {
		if t := c.Messages[name]; t.holds(content) {
			return t.Act, name
		}
	}
	if c.machine == nil || len(c.machine.Opening()) == 0 {
		return 0, "" // New refuses a message without an act
	}
	act := c.machine.Opening()[0]
	return act, c.typeOf(machine.Send(act))
}

// Asked is the caller's handle of a conversation that [Codon.Start] began. Its methods are
// safe for concurrent use.
type Asked struct {
	Handle
	side *askedSide
}

// Wait blocks until the conversation has ended, and returns the results of [Codon.Ask].
func (a *Asked) Wait() (End, error) {
	a.side.Await()
	return a.side.end, a.side.err
}

// Tell gives the conversation a command of the initiator, with the content of the message that
// the command makes the table send. It does not wait. A command without a row in the state is
// logged and has no other effect.
func (a *Asked) Tell(command string, content any) { a.side.Tell(Command{command, content}) }

// askedJobs are the settings of [On] and [OnReport].
type askedJobs struct {
	jobs    map[string]func(ctx context.Context, s *askedSide, m *performatives.Message) (Command, error)
	reads   map[string]reflect.Type // the type of Turn.Content of each job
	faults  []error
	reports map[string]func(*performatives.Message)
}

// On sets the code of the initiator's job of that name; the last On of a job counts. do runs on a
// goroutine of its own. Its ctx ends with the conversation, and conversations that are started with
// it have the same parent as the conversation itself. An error, a panic, and a message whose
// payload is no P withdraw the conversation; the [*EndError] then has the cause.
func On[P any](job string, do func(ctx context.Context, t Turn[P]) (Command, error)) Option {
	return Setting(func(a *askedJobs) {
		if a.jobs == nil {
			a.jobs = make(map[string]func(context.Context, *askedSide, *performatives.Message) (Command, error))
			a.reads = make(map[string]reflect.Type)
		}
		if do == nil {
			a.faults = append(a.faults, fmt.Errorf("the function of codons.On(%q) is nil", job))
		}
		a.reads[job] = reflect.TypeFor[P]()
		a.jobs[job] = func(ctx context.Context, s *askedSide, m *performatives.Message) (Command, error) {
			t := Turn[P]{Message: m, Agent: s.conversation.agent, say: func(c Command) error {
				if err := s.of.checkSays(machine.Initiator, job, c.Name); err != nil {
					return err
				}
				s.Tell(c)
				return ctx.Err()
			}}
			if m != nil {
				var err error
				if t.Content, err = performatives.PayloadAs[P](m); err != nil {
					return Command{}, err
				}
			}
			return do(ctx, t)
		}
	})
}

// OnReport sets the function for the messages that the table reports under that name. fn gets
// their payloads in order, one at a time. It must not block or wait for the conversation. A
// panic of fn ends the conversation. A message whose payload is no P is not reported.
func OnReport[P any](report string, fn func(P)) Option {
	return Setting(func(a *askedJobs) {
		if a.reports == nil {
			a.reports = make(map[string]func(*performatives.Message))
		}
		a.reports[report] = func(m *performatives.Message) {
			if m == nil {
				return
			}
			if p, err := performatives.PayloadAs[P](m); err == nil {
				fn(p)
			}
		}
	})
}

// askedSide is the initiator's side of a conversation that [Codon.Start] began.
type askedSide struct {
	InitiatorSide
	of     *Codon
	jobs   askedJobs
	values context.Context //nolint:containedctx // the caller's, without its end: a job's conversations have the same parent
	stops  map[string]context.CancelFunc
	end    End
	asked  Asked
}

// check returns an error for a job of the table without code, and for code or a report that
// the table does not name.
func (s *askedSide) check() error {
	if s.of.machine == nil {
		return fmt.Errorf("codons: %s has no table of its own, so nothing can be asked by it", s.of.Name())
	}
	if err := errors.Join(s.jobs.faults...); err != nil {
		return fmt.Errorf("codons: %s: %w", s.of.Name(), err)
	}
	known := namesOf(s.of.jobs(machine.Initiator))
	for name := range s.jobs.jobs {
		if !slices.Contains(known, name) {
			return fmt.Errorf("codons: %s: the initiator has no job %q: want one of %q", s.of.Name(), name, known)
		}
		if err := s.of.checkReads(machine.Initiator, name, s.jobs.reads[name]); err != nil {
			return err
		}
	}
	for _, name := range known {
		if s.jobs.jobs[name] == nil {
			return fmt.Errorf("codons: %s: the initiator's job %q has no code: give it by codons.On", s.of.Name(), name)
		}
	}
	for name := range s.jobs.reports {
		if !s.of.Table.Does(machine.Initiator, machine.Report(name)) {
			return fmt.Errorf("codons: %s: the table reports nothing under %q to the initiator", s.of.Name(), name)
		}
	}
	return nil
}

// Run starts a job of the initiator.
func (s *askedSide) Run(c *Conversation, job string) {
	do := s.jobs.jobs[job]
	values := context.WithValue(s.values, actors.CallerKey{}, c.CallerFor(job))
	ctx, cancel := context.WithDeadlineCause(values, s.deadline(c), ErrDeadline)
	if s.stops == nil {
		s.stops = make(map[string]context.CancelFunc)
	}
	s.stops[job] = cancel
	m, began := c.event.Message, time.Now()
	c.agent.Work(func() {
		defer cancel()
		returned := false
		ended := Command{Data: performatives.Failure{ErrorCode: performatives.CodeInternal}}
		var failure error
		defer func() { // also when do panics or calls runtime.Goexit
			if v := recover(); v != nil || !returned {
				failure = panicOf(v, debug.Stack())
				c.failed(lifecycle.JobFailed{Job: job, After: time.Since(began), Err: failure})
				c.withdraw(fmt.Errorf("codons: the job %s of %s panicked", job, c.Protocol()))
			}
			c.publishJob(job, "", m, began, ended, failure)
		}()
		last, err := do(ctx, s, m)
		returned, ended = true, last
		ends := s.of.job(machine.Initiator, job).Ends
		switch {
		case err != nil:
			ended = Command{Data: FailureOf(err)}
			if ownRefusal(err) == nil {
				failure = err
			}
			c.withdraw(fmt.Errorf("codons: the job %s of %s: %w", job, c.Protocol(), err))
		case !slices.Contains(ends, last.Name):
			ended, failure = invalidAnswer, wrongEnd(job, c.Protocol(), last.Name, ends)
			c.withdraw(failure)
		default:
			c.actor.Tell(&command{Command: last, band: c.priority, final: true})
		}
	})
}

// deadline returns the time at which the context of a job of the initiator ends.
func (s *askedSide) deadline(c *Conversation) time.Time {
	if by := s.request.ReplyBy(); !by.IsZero() {
		return by
	}
	return c.at.Updated.Add(DefaultDeadline)
}

// Stop ends the context of a job.
func (s *askedSide) Stop(_ *Conversation, job string) {
	if stop := s.stops[job]; stop != nil {
		stop()
	}
}

// Report calls the caller's function, if there is one.
func (s *askedSide) Report(_ *Conversation, what string, m *performatives.Message) {
	if fn := s.jobs.reports[what]; fn != nil {
		fn(m)
	}
}

// Ended stores the outcome and wakes the caller.
func (s *askedSide) Ended(c *Conversation, last *performatives.Message) {
	for _, stop := range s.stops {
		stop()
	}
	s.end = End{State: c.State(), Message: last}
	if standard.IsEnd(c.State()) {
		s.Close(c.EndError(last))
		return
	}
	s.Close(nil)
}

// Abandoned wakes the caller of a conversation that ended without a step of its table.
func (s *askedSide) Abandoned(c *Conversation, cause error) {
	s.end.State = standard.StateAbandoned
	s.InitiatorSide.Abandoned(c, cause)
}
