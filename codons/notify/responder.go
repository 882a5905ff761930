package notify

import (
	"context"
	"errors"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Handler is an agent that handles notices: the responder of [Codon].
type Handler interface {
	actors.Agent
	// HandleNotice handles one notice. It runs on the agent's own actor, must not block, and
	// may read and change the agent's fields. Notices of one sender and priority come in
	// their order. A panic is a failure of the agent. ctx is for conversations that the
	// handler begins; a call that waits for one needs another goroutine. Its deadline is
	// the notice's ReplyBy, or else [codons.DefaultDeadline] from now.
	HandleNotice(ctx context.Context, n Notice)
}

// Notice is a notice and its circumstances.
type Notice struct {
	Message *performatives.Message // the INFORM; a broadcast has no Receiver
	Agent   Agent                  // the handle of the agent that handles it, for the notices that follow from it
}

// Service makes every [Handler] receive INFORM messages with the codon's name, and those without
// a protocol that answer no other message.
var Service = codons.NewService(Codon, codons.ServiceOptions{Opens: opens}, newResponder)

func opens(m *performatives.Message) bool {
	if m.Performative() != performatives.ActInform {
		return false
	}
	return m.Protocol() == Codon.Name() || m.Protocol() == "" && m.InReplyTo() == ""
}

// maxRemembered is the number of notices that an agent recognises when they come again.
const maxRemembered = 256

// responder hands the notices for one agent to it. Only the agent's actor uses it.
type responder struct {
	self  actors.Self
	agent Handler
	seen  map[noticeKey]bool
	ring  []noticeKey // the keys of seen; the oldest is at next once the ring is full
	next  int
}

func newResponder(self actors.Self, agent Handler, _ codons.Times) actors.Responder {
	return &responder{self: self, agent: agent, seen: make(map[noticeKey]bool)}
}

// noticeKey identifies a notice. Message ids are unique per sender.
type noticeKey struct {
	from performatives.AgentID
	id   performatives.MessageID
}

// Take hands a notice to the agent, or drops it as a duplicate.
func (r *responder) Take(m *performatives.Message) {
	key := noticeKey{m.Sender().Fold(), m.ID()}
	if r.seen[key] {
		r.self.System().DeadLetter(string(r.self.ID()), m, machine.DropDuplicate)
		return
	}
	r.remember(key)
	hops := hopsOf(m)
	if hops > MaxHops {
		r.self.System().DeadLetter(string(r.self.ID()), m, performatives.CodeBudget)
		return
	}
	publishStep(r.self, m.Sender(), m, machine.Responder, machine.Receive(performatives.ActInform))
	r.agent.HandleNotice(codons.ContextFor(r.self, m), Notice{Message: m, Agent: Agent{r.self, hops}})
}

func (r *responder) remember(key noticeKey) {
	r.seen[key] = true
	if len(r.ring) < maxRemembered {
		r.ring = append(r.ring, key)
		return
	}
	delete(r.seen, r.ring[r.next])
	r.ring[r.next] = key
	r.next = (r.next + 1) % maxRemembered
}

// Open is not called: see [actors.NoticeResponder].
func (*responder) Open(*performatives.Message) actors.Conversation {
	panic(errors.New("notify: Open called, but a notice opens no conversation"))
}
