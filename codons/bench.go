package codons

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// bench is where one agent's tasks are worked on.
type bench struct {
	times   Delegation
	self    actors.Self
	worker  Worker
	limit   int64
	running atomic.Int64 // places that are taken
}

// place is one of the tasks that a bench has room for, from before the agent is
// asked until the handler has returned or the task is not taken on.
type place struct {
	bench *bench
	gone  atomic.Bool
}

// take returns a place, or nil when there is none.
func (b *bench) take() *place {
	if b.running.Add(1) > b.limit {
		b.running.Add(-1)
		return nil
	}
	return &place{bench: b}
}

// giveBack makes room. Nil, and doing it again, does nothing.
func (p *place) giveBack() {
	if p != nil && p.gone.CompareAndSwap(false, true) {
		p.bench.running.Add(-1)
	}
}

// Open begins the conversation of a task. This is the agent's own actor, so the
// decision needs no way round.
func (b *bench) Open(m *performatives.Message) actors.Conversation {
	s := &workScript{bench: b}
	if m.Performative() == performatives.ActTaskRequest {
		d, p := b.consider(m, nil)
		s.decided = &d
		s.place.Store(p)
	}
	return newAnswering(b.self, delegation, m, s)
}

// consider asks the agent about a task, on the agent's actor. One that it accepts
// has its place, any other none.
func (b *bench) consider(m *performatives.Message, previous []performatives.InformResult) (d Decision, p *place) {
	t, err := b.task(m, previous)
	switch {
	case err != nil:
		return notUnderstood(err), nil
	case m.Expired(time.Now()):
		return Reject(performatives.CodeExpired, ""), nil
	}
	if p = b.take(); p == nil {
		return Reject(performatives.CodeBusy, fmt.Sprintf("%d tasks are under way, which is the limit", b.limit)), nil
	}
	defer func() { // also when the agent panics
		if d.command != commandAccept {
			p.giveBack()
		}
	}()
	return b.worker.ConsiderTask(considering(b.deadline(m)), t).orDefault(), p
}

// notUnderstood is the answer to a request whose content is none.
func notUnderstood(err error) Decision {
	if r := asRefusal(err); r != nil {
		return NotUnderstood(r.Code, r.Text)
	}
	return NotUnderstood(performatives.CodeInvalidPayload, "")
}

func (b *bench) task(m *performatives.Message, previous []performatives.InformResult) (Task, error) {
	req, err := performatives.PayloadAs[performatives.TaskRequest](m)
	return Task{
		TaskRequest: req, Message: m, Previous: slices.Clone(previous), Agent: b.self,
		report: func(performatives.StatusUpdate) error { return ErrEnded },
	}, err
}

// deadline is until when a task may take.
func (b *bench) deadline(m *performatives.Message) time.Time {
	if by := m.ReplyBy(); !by.IsZero() {
		return by
	}
	return time.Now().Add(b.times.Deadline)
}
