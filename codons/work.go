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
	inquiry  inquiry               // of the handler
	place    atomic.Pointer[place] // taken, and not handed to a handler yet
}

func (s *workScript) run(c *conversation, job string) {
	switch {
	case job == jobPerform:
		// Its error is not of this place: the agent was not asked about a task whose
		// budget makes no sense.
		s.handler, _ = newHandler(c, c.deadline(s.bench.times), s.place.Swap(nil), s.perform(c))
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

// perform is the handler of a task. It was readable when the agent considered it.
func (s *workScript) perform(c *conversation) func(context.Context, *handler) (string, any) {
	t, _ := s.bench.task(c.request, s.previous)
	return func(ctx context.Context, h *handler) (string, any) {
		t.report = func(u performatives.StatusUpdate) error { return h.say(commandReport, u) }
		t.ask = func(ctx context.Context, r performatives.InformResult) (performatives.TaskRequest, error) {
			return s.inquiry.ask(ctx, h, r)
		}
		result, err := s.bench.worker.PerformTask(ctx, t)
		if err != nil {
			return commandFail, failureOf(err)
		}
		return outcome(c, result)
	}
}

// outcome is the command of a result. One that is not valid is the worker's fault
// and told as a failure, so that the asker is not left without an answer.
func outcome(c *conversation, r performatives.InformResult) (string, any) {
	if err := r.Validate(); err != nil {
		c.self.Logger().Error("the worker's result is not valid", "conversation", string(c.key.ID), "err", err)
		return commandFail, performatives.Failure{ErrorCode: performatives.CodeInternal, ErrorText: "the worker returned no valid result"}
	}
	if r.RequestForUser() != "" {
		return commandNeedInput, r
	}
	return commandFinish, r
}

// leave gives back the place of a task that no handler works on.
func (s *workScript) leave() { s.place.Swap(nil).giveBack() }

// stop ends the handler's context.
func (s *workScript) stop(c *conversation, job string) {
	if job == jobPerform {
		s.handler.cancel(c.cause())
	}
}

func (s *workScript) payload(c *conversation, e machine.Effect, data any) any {
	switch e.Act { //nolint:exhaustive // every other act has its payload from the command
	case performatives.ActTaskAccept:
		if data == nil { // of the round that answers the handler
			return performatives.TaskAccept{}
		}
	case performatives.ActInformResult:
		if q, ok := data.(asked); ok {
			data = q.InformResult
		}
		if r, ok := data.(performatives.InformResult); ok && e.Name == tagInput {
			s.previous = append(s.previous, r)
		}
	case performatives.ActInform:
		s.leave() // before the asker learns of it
		return receipt
	case performatives.ActFailure:
		s.leave()
		switch data.(type) {
		case nil:
			return c.failure()
		case performatives.InformResult:
			return askedTwice
		}
	}
	return data
}

// report hands the handler the answer that it waits for.
func (s *workScript) report(_ *conversation, what string, m *performatives.Message) {
	if what == reportAnswer {
		s.inquiry.answered(m)
	}
}

func (s *workScript) timer(c *conversation, name string) time.Duration {
	if name == timerGrace {
		return s.bench.times.Grace
	}
	return time.Until(s.bench.times.deadline(c.request))
}

func (s *workScript) tag(*performatives.Message) string { return "" }

// ended gives back what the conversation holds, and has an eye on a handler that
// outlives it.
func (s *workScript) ended(c *conversation, _ *performatives.Message) {
	s.leave()
	s.handler.leaveBehind(s.bench.times.Grace)
}

func (s *workScript) abandoned(*conversation, error) { s.leave() }
