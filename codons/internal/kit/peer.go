package kit

import (
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Peer is a scripted peer of a world.
type Peer struct{ *systemtest.Peer }

// Peer adds a scripted peer. The world allows violations from then on.
func (w *World) Peer(id p.AgentID) *Peer {
	a := &Peer{systemtest.NewPeer(w.T)}
	a.Self = w.Add(id, a)
	w.Allow(systemtest.Violation)
	return a
}

// ReplyOddly answers a message by an act that no table of the library expects there, and expects
// the NOT_UNDERSTOOD.
func (a *Peer) ReplyOddly(m *p.Message) {
	a.T.Helper()
	odd := a.Send(m.ReplyEnvelope(a.ID(), a.Stamp(), p.ActDisconfirm, p.Raw("{}")))
	if said := a.Expect(p.ActNotUnderstood); !said.Answers(odd) {
		a.T.Errorf("the NOT_UNDERSTOOD answers %s", said.InReplyTo())
	}
}

// Reply answers a message.
func (a *Peer) Reply(m *p.Message, payload any) *p.Message {
	a.T.Helper()
	return a.Send(m.ReplyEnvelope(a.ID(), a.Stamp(), 0, payload))
}
