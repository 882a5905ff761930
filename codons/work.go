package codons

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// workScript is the responder of one delegation.
type workScript struct {
	bench    *bench
	decided  *Decision // made as the conversation opened
	previous []performatives.InformResult
	handler  *handler              // the latest; nil before the first
	place    atomic.Pointer[place] // taken, and not handed to a handler yet
}

func (s *workScript) run(c *conversation, job string) {
	switch {
	case job == jobPerform:
		s.handler = newHandler(c, s)
		c.self.System().Work(s.handler.run)
	case s.decided != nil:
		d := *s.decided
		s.decided = nil
		c.happen(happening{on: machine.Command(d.command), data: d.payload})
	default:
		s.considerAgain(c)
	}
}

// considerAgain asks about a further round, on the agent's actor.
func (s *workScript) considerAgain(c *conversation) {
	request, previous := c.request, slices.Clone(s.previous)
	err := s.bench.self.Later(func(actors.Agent) {
		if c.Over() {
			return
		}
		decided := false
		defer func() {
			if !decided { // the agent panicked; its supervisor may take its time
				c.tell(commandFail, performatives.Failure{ErrorCode: performatives.CodeInternal, ErrorText: "the agent failed"})
			}
		}()
		d, p := s.bench.consider(request, previous)
		decided = true
		s.place.Store(p)
		c.tell(d.command, d.payload)
		if c.Over() { // it has perhaps looked for the place too early
			s.leave()
		}
	})
	if err != nil {
		code := performatives.CodeBusy
		if errors.Is(err, actors.ErrStopped) {
			code = performatives.CodeStopped
		}
		c.happen(happening{on: machine.Command(commandReject), data: Reject(code, "").payload})
	}
}

// leave gives back the place of a task that no handler works on.
func (s *workScript) leave() { s.place.Swap(nil).giveBack() }

// stop ends the handler's context; the cause is what made the table stop it.
func (s *workScript) stop(c *conversation, job string) {
	if job == jobPerform {
		s.handler.cancel(s.cause(c))
	}
}

func (s *workScript) cause(c *conversation) error {
	switch c.state.State { //nolint:exhaustive // any other state ends the work with the agent
	case stateCancelling, stateCancelled:
		return ErrCanceled
	case stateTimedOut:
		return ErrDeadline
	}
	return ErrEnded
}

func (s *workScript) payload(c *conversation, e machine.Effect, data any) any {
	switch e.Act { //nolint:exhaustive // every other act has its payload from the command
	case performatives.ActStatusUpdate:
		s.handler.sent()
	case performatives.ActInformResult:
		if r, ok := data.(performatives.InformResult); ok && e.Name == tagInput {
			s.previous = append(s.previous, r)
		}
	case performatives.ActInform:
		s.leave() // before the asker learns of it
		return performatives.Receipt{Text: "nothing runs any more"}
	case performatives.ActFailure:
		s.leave()
		if data == nil {
			return s.failure(c)
		}
	}
	return data
}

// failure is what the table reports of its own accord: no handler's word is
// behind it.
func (s *workScript) failure(c *conversation) performatives.Failure {
	code := performatives.CodeStopped
	switch {
	case c.state.State == stateTimedOut:
		code = performatives.CodeTimeout
	case c.cancel != nil:
		code = performatives.CodeStillRunning
	}
	return performatives.Failure{ErrorCode: code, ErrorText: code.Traits().Text}
}

// failureOf is what a peer learns of a handler's error.
func failureOf(err error) performatives.Failure {
	if r := asRefusal(err); r != nil {
		return performatives.Failure{ErrorCode: r.Code, ErrorText: r.Text}
	}
	code := performatives.CodeFailed
	if errors.Is(err, context.DeadlineExceeded) {
		code = performatives.CodeTimeout
	}
	return performatives.Failure{ErrorCode: code, ErrorText: code.Traits().Text}
}

func (s *workScript) report(*conversation, string, *performatives.Message) {}

func (s *workScript) timer(c *conversation, name string) time.Duration {
	if name == timerGrace {
		return s.bench.times.Grace
	}
	return time.Until(s.bench.deadline(c.request))
}

func (s *workScript) tag(*performatives.Message) string { return "" }

// ended gives back what the conversation holds, and has an eye on a handler that
// outlives it. One that was cancelled has had its grace.
func (s *workScript) ended(c *conversation, _ *performatives.Message) {
	s.leave()
	if s.handler == nil {
		return
	}
	grace := s.bench.times.Grace
	if c.cancel != nil {
		grace = 0
	}
	s.handler.outlive(grace)
}

func (s *workScript) abandoned(*conversation, error) { s.leave() }
