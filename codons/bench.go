package codons

import (
	"context"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// bench is where one agent's tasks are worked on.
type bench struct {
	places
	times  Times
	self   actors.Self
	worker Worker
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
		return Reject(performatives.CodeBusy, b.full()), nil
	}
	defer func() { // also when the agent panics
		if d.command != commandAccept {
			p.giveBack()
		}
	}()
	return b.worker.ConsiderTask(considering(b.times.deadline(m), m), t).orDefault(), p
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
	if err == nil {
		_, err = budgetOf(m)
	}
	return Task{
		TaskRequest: req, Message: m, Previous: slices.Clone(previous), Agent: b.self,
		report: func(performatives.StatusUpdate) error { return ErrEnded },
		ask: func(context.Context, performatives.InformResult) (performatives.TaskRequest, error) {
			return performatives.TaskRequest{}, ErrEnded
		},
	}, err
}
