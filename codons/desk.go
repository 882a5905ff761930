package codons

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// desk is where one agent's answers in one codon are made, each by a handler of its
// own. It suits codons of the exchange family.
type desk struct {
	places
	times   Times
	self    actors.Self
	machine *machine.Machine
	// answer is the agent's code for the conversation c, with its last word: a
	// command of the table and its content. h.say is for what it says before.
	answer func(ctx context.Context, c *conversation, h *handler) (string, any)
}

// newDesk returns the responder of an agent in one codon.
func newDesk(self actors.Self, agent actors.Agent, m *machine.Machine, t Times, answer func(context.Context, *conversation, *handler) (string, any)) *desk {
	return &desk{places: places{limit: limitOf(agent)}, times: t.withDefaults(), self: self, machine: m, answer: answer}
}

// Open begins the conversation of a request.
func (d *desk) Open(m *performatives.Message) actors.Conversation {
	return newAnswering(d.self, d.machine, m, &deskScript{desk: d})
}

// deskScript is the responder of one conversation.
type deskScript struct {
	desk    *desk
	handler *handler // nil before it runs
}

// run starts the handler, if there is time and room for it.
func (s *deskScript) run(c *conversation, _ string) {
	if p := s.admit(c); p != nil {
		s.start(c, p, func(ctx context.Context, h *handler) (string, any) { return s.desk.answer(ctx, c, h) })
	}
}

// admit takes a place for the handler, or turns the request down and returns nil.
func (s *deskScript) admit(c *conversation) *place {
	if c.request.Expired(time.Now()) {
		s.decline(c, performatives.CodeExpired, "")
		return nil
	}
	p := s.desk.take()
	if p == nil {
		s.decline(c, performatives.CodeBusy, s.desk.full())
	}
	return p
}

// start runs a handler on a goroutine of its own, for the first job of the
// conversation or a further one, which has no more time than the first.
func (s *deskScript) start(c *conversation, p *place, perform func(context.Context, *handler) (string, any)) {
	deadline := c.deadline(s.desk.times)
	if c.work != nil {
		deadline = c.work.deadline
	}
	h, err := newHandler(c, deadline, p, perform)
	if err != nil {
		p.giveBack()
		name, data := turndown(err)
		c.happen(happening{on: machine.Command(name), data: data})
		return
	}
	s.handler = h
	c.self.System().Work(h.run)
}

func (s *deskScript) decline(c *conversation, code performatives.Code, text string) {
	c.happen(happening{
		on:   machine.Command(commandRefuse),
		data: performatives.Refuse{ReasonCode: code, ReasonText: text},
	})
}

// stop ends the handler's context.
func (s *deskScript) stop(c *conversation, _ string) { s.handler.cancel(c.cause()) }

func (s *deskScript) payload(c *conversation, e machine.Effect, data any) any {
	switch {
	case e.Name == tagReceipt:
		return receipt
	case e.Act == performatives.ActTaskReject:
		return asReject(data)
	case e.Act == performatives.ActFailure && data == nil:
		return c.failure()
	case e.Act == performatives.ActFailure:
		return asFailure(data)
	}
	return data
}

func (s *deskScript) report(*conversation, string, *performatives.Message) {}

func (s *deskScript) timer(c *conversation, name string) time.Duration {
	return s.desk.times.timer(c, name)
}

func (s *deskScript) tag(*performatives.Message) string { return "" }

func (s *deskScript) ended(*conversation, *performatives.Message) {
	s.handler.leaveBehind(s.desk.times.Grace)
}

func (s *deskScript) abandoned(*conversation, error) {}
