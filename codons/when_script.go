package codons

import (
	"context"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// whenDesk is a desk whose handlers do two jobs one after the other: deciding, and
// then waiting and doing.
type whenDesk struct {
	*desk
	role RequestWhenHandler
}

// Open begins the conversation of a request.
func (d whenDesk) Open(m *performatives.Message) actors.Conversation {
	return newAnswering(d.self, d.machine, m, &whenScript{deskScript: deskScript{desk: d.desk}, role: d.role})
}

// whenScript is the responder of one such conversation.
type whenScript struct {
	deskScript
	role  RequestWhenHandler
	asked RequestedWhen         // written by the first job, read by the second
	place atomic.Pointer[place] // between the two
}

func (s *whenScript) run(c *conversation, job string) {
	if job == jobAnswer {
		s.start(c, s.place.Swap(nil), func(ctx context.Context, _ *handler) (string, any) { return s.perform(ctx, c) })
		return
	}
	if p := s.admit(c); p != nil {
		s.start(c, p, func(ctx context.Context, h *handler) (string, any) { return s.consider(ctx, c, h) })
	}
}

// consider is the first job. When it agrees, its place is the second's.
func (s *whenScript) consider(ctx context.Context, c *conversation, h *handler) (string, any) {
	w, err := performatives.PayloadAs[When](c.request)
	s.asked = RequestedWhen{When: w, Message: c.request, Agent: s.desk.self}
	if err == nil {
		err = s.role.ConsiderWhen(ctx, s.asked)
	}
	if err != nil {
		return turndown(err)
	}
	s.place.Store(h.place)
	h.place = nil
	if c.Over() { // it has perhaps looked for the place too early
		s.leave()
	}
	return commandAgree, nil
}

// leave gives back the place that no job has.
func (s *whenScript) leave() { s.place.Swap(nil).giveBack() }

// perform is the second job.
func (s *whenScript) perform(ctx context.Context, c *conversation) (string, any) {
	if err := s.role.AwaitCondition(ctx, s.asked); err != nil {
		return turndown(err)
	}
	if ctx.Err() != nil { // what is no longer wanted is not begun
		return turndown(context.Cause(ctx))
	}
	answer, err := s.role.PerformWhen(ctx, s.asked)
	if err != nil {
		return turndown(err)
	}
	return c.answerWith(commandAnswer, performatives.ActInform, answer)
}

func (s *whenScript) ended(c *conversation, last *performatives.Message) {
	s.leave()
	s.deskScript.ended(c, last)
}
