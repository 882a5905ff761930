package codons

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// finish ends the stream. Only the first end counts.
func (s *Stream[T]) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.State == StreamEnded {
		return
	}
	s.status.State, s.status.Cause = StreamEnded, err
	s.firstLocked()
	s.leave()
	close(s.done)
}

// broke has the stream ask again, after a while, unless it never began.
func (s *Stream[T]) broke(err error) {
	s.mu.Lock()
	began := s.status.State != StreamSubscribing
	if began {
		if s.status.State == StreamSubscribed {
			s.status.Breaks++
			s.status.Cause = err
			if s.broken == nil {
				s.broken = &Break{At: time.Now(), Cause: err}
			}
		}
		s.status.State = StreamBroken
		s.status.Attempts++
	}
	attempt := s.status.Attempts
	s.mu.Unlock()
	if !began || s.options.attempts < 0 || s.options.attempts > 0 && attempt > s.options.attempts {
		s.finish(err)
		return
	}
	s.again(s.options.resume.wait(performatives.MessageID(s.party.Stamp().ID), attempt))
}

// again subscribes once more after a while, unless the agent stops or the stream's
// context ends before.
func (s *Stream[T]) again(after time.Duration) {
	if after == never {
		s.finish(s.Status().Cause)
		return
	}
	p := &pause{over: s.resume}
	p.begin(s.ctx, after, s.party, func(code performatives.Code, cause error) {
		s.finish(&EndError{
			Protocol: s.machine.Name(), Peer: s.to, State: stateAbandoned, cause: cause,
			Refusal: performatives.Refusal{Code: code, From: s.party.ID()},
		})
	})
}

// resume opens the next conversation.
func (s *Stream[T]) resume() {
	switch err := s.begin(); {
	case errors.Is(err, actors.ErrMailboxFull):
		s.broke(s.unbegun(err))
	case err != nil:
		s.finish(s.unbegun(err))
	}
}

// unbegun says why there is no next conversation: the party has no room or no budget for
// it, or stops, or the work to which the stream belongs has just ended.
func (s *Stream[T]) unbegun(err error) error {
	var end *EndError
	if errors.As(err, &end) {
		return err
	}
	end = &EndError{Protocol: s.machine.Name(), Peer: s.to, State: stateAbandoned, cause: err}
	switch r := asRefusal(err); {
	case r != nil:
		end.Refusal, end.cause = *r, nil
	case errors.Is(err, actors.ErrMailboxFull):
		end.Refusal = performatives.Refusal{Code: performatives.CodeBusy, From: s.party.ID()}
	case errors.Is(err, actors.ErrStopped):
		end.Refusal = performatives.Refusal{Code: performatives.CodeStopped, From: s.party.ID()}
	case errors.Is(err, ErrEnded):
		end.Refusal = performatives.Refusal{Code: performatives.CodeCanceled, From: s.party.ID()}
	}
	return end
}

// pause is the time between a break and the next attempt: a conversation of nobody,
// which must end by itself with the agent or the caller's context.
type pause struct {
	over func()

	mu    sync.Mutex
	ended bool
	stop  []func()
}

// begin lets the time pass, and then calls over, or cut if something ends it before.
func (p *pause) begin(ctx context.Context, after time.Duration, self actors.Self, cut func(performatives.Code, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := func(code performatives.Code, cause error) {
		if p.end() {
			cut(code, cause)
		}
	}
	timer := self.System().AfterFunc(after, func() {
		if p.end() {
			p.over()
		}
	})
	release := context.AfterFunc(ctx, func() { end(codeOfEnd(ctx), endOf(ctx)) })
	quiet := self.System().Events.Listen(func(ev actors.Event) {
		if stopped, ok := ev.(actors.AgentStopped); ok && stopped.Agent.Is(self.ID()) {
			end(performatives.CodeStopped, actors.ErrStopped)
		}
	}, actors.About[actors.AgentStopped]())
	p.stop = []func(){func() { timer() }, func() { release() }, quiet}
}

// end ends the pause, and reports whether it was the first to.
func (p *pause) end() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.ended = true
	for _, stop := range p.stop {
		stop()
	}
	return true
}

// codeOfEnd is the code for the end of a caller's context.
func codeOfEnd(ctx context.Context) performatives.Code {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return performatives.CodeTimeout
	}
	return performatives.CodeCanceled
}
