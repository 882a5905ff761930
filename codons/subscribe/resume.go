package subscribe

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// finish ends the stream. Only the first call has an effect.
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

// broke records a break and subscribes again after a delay. A stream that was never subscribed ends
// instead.
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
	s.again(s.options.resume.WaitAfter(err, performatives.MessageID(s.party.Stamp().ID), attempt))
}

// again subscribes after a delay, unless the agent stops or the stream's context ends first.
func (s *Stream[T]) again(after time.Duration) {
	if after == codons.Never {
		s.finish(s.Status().Cause)
		return
	}
	p := &pause{over: s.resume}
	p.begin(s.ctx, after, s.party, func(code performatives.Code, cause error) {
		s.finish(&codons.EndError{
			Protocol: s.codon.Name(), Peer: s.to, State: standard.StateAbandoned, Cause: cause,
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

// unbegun returns the stream's error for a conversation that could not begin: the party's mailbox
// is full, its budget is used up, it stops, or the work of the stream's context has ended.
func (s *Stream[T]) unbegun(err error) error {
	var end *codons.EndError
	if errors.As(err, &end) {
		return err
	}
	end = &codons.EndError{Protocol: s.codon.Name(), Peer: s.to, State: standard.StateAbandoned, Cause: err}
	switch r := performatives.RefusalOf(err); {
	case r != nil:
		end.Refusal, end.Cause = *r, nil
	case errors.Is(err, actors.ErrMailboxFull):
		end.Refusal = performatives.Refusal{Code: performatives.CodeBusy, From: s.party.ID()}
	case errors.Is(err, actors.ErrStopped):
		end.Refusal = performatives.Refusal{Code: performatives.CodeStopped, From: s.party.ID()}
	case errors.Is(err, codons.ErrEnded):
		end.Refusal = performatives.Refusal{Code: performatives.CodeCanceled, From: s.party.ID()}
	}
	return end
}

// pause is the delay between a break and the next attempt. No conversation exists in it, so it
// watches the agent and the caller's context itself.
type pause struct {
	over func()

	mu    sync.Mutex
	ended bool
	stop  []func() bool
}

// begin calls over after the delay, or cut if the context or the agent ends first.
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
	release := context.AfterFunc(ctx, func() { end(codeOfEnd(ctx), actors.EndOf(ctx)) })
	forget := self.AfterStop(func() { end(performatives.CodeStopped, actors.ErrStopped) })
	p.stop = []func() bool{timer, release, forget}
}

// end ends the pause, and reports whether this call was the first.
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

// codeOfEnd returns the code for the end of a caller's context.
func codeOfEnd(ctx context.Context) performatives.Code {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return performatives.CodeTimeout
	}
	return performatives.CodeCanceled
}
