package actors

import (
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Key finds the conversation that a message belongs to.
type Key struct {
	ID   performatives.ConversationID
	Peer performatives.AgentID
	// Initiator says that the agent opened the conversation. One that talks to
	// itself is on both sides, in two conversations.
	Initiator bool
}

// Conversation is the actor of one conversation, a child of the agent that it
// serves. It receives the messages of its conversation as *performatives.Message.
// When it is over it calls [Self.End], once, and is stopped. A failure in it ends
// it and leaves the agent alone.
//
// Three further methods are called when it has them: Abandon(error), once, instead
// of starting it, when it cannot begin; Over() bool, from any goroutine, which
// reports whether End was called; and Priority() performatives.Priority, which is
// the band in which it begins. A fourth, Standing() bool, is called once as it begins,
// and reports that it goes on until someone ends it, so that [System.Stop] does not
// wait for its end but brings it about.
type Conversation interface {
	actor.Actor
	// Key returns what the conversation is found by. It never changes.
	Key() Key
}

// Protocol makes agents answer the conversations of one codon.
type Protocol interface {
	// Name is what messages of the codon carry as their Protocol.
	Name() string
	// Opens reports whether m, which belongs to no conversation that is under
	// way, begins one of this codon, on the side that answers.
	Opens(m *performatives.Message) bool
	// Bind returns the responder of one agent, or nil when the agent does not play
	// the role. It is called on the agent's actor, on the first message that
	// Opens, and again after a restart.
	Bind(self Self, agent Agent) Responding
}

// Responding opens the conversations of one agent on the side that answers.
type Responding interface {
	// Open returns the conversation that m begins; it gets m as its first message.
	// It is called on the agent's actor.
	Open(m *performatives.Message) Conversation
}

// Taking is a [Responding] of conversations that end with their first message:
// none is begun, and no actor spawned.
type Taking interface {
	Responding
	// Take handles the message on the agent's actor. It must not block. Open is
	// never called.
	Take(m *performatives.Message)
}

// guarded is the actor of a conversation. The engine knows no way out for an
// actor that panics as it stops: neither it nor its parent would ever end.
type guarded struct {
	conversation Conversation
	cell         *cell
	failed       bool
}

// Receive is the engine's entry.
func (g *guarded) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Stopping:
		g.stop(ctx)
	case *actor.Stopped:
		g.conversation.Receive(ctx)
		if g.failed { // it may not have said that it is over
			_ = Self{g.cell}.post(&lost{g.conversation.Key(), ctx.Self()}) // a stopped agent knows
		}
	case hurry:
	default:
		g.receive(ctx)
	}
}

// receive handles one event. The message that the conversation fails on is told to
// its sender, as one that the agent fails on is.
func (g *guarded) receive(ctx actor.Context) {
	handled := false // stays so by a panic and by runtime.Goexit
	defer func() {
		if handled {
			return
		}
		g.failed = true
		if m, ok := ctx.Message().(*performatives.Message); ok {
			g.cell.sys.refuse(g.cell.spec.ID, m, performatives.CodeInternal, "")
		}
	}()
	g.conversation.Receive(ctx)
	handled = true
}

func (g *guarded) stop(ctx actor.Context) {
	defer func() {
		if v := recover(); v != nil {
			g.failed = true
			Self{g.cell}.Logger().Error("conversation panicked as it stopped",
				"conversation", string(g.conversation.Key().ID), "err", fmt.Sprint(v))
			g.cell.sys.abandon(g.conversation, ErrStopped) // whoever waits for it need not wait for ever
		}
	}()
	g.conversation.Receive(ctx)
}

// entry is a conversation as its agent's cell knows it. Entries with the same id
// are chained.
type entry struct {
	key     Key
	pid     *actor.PID
	conv    Conversation                      // nil once it has ended
	late    func(*performatives.Message) bool // of one that has ended; see [Self.End]
	own     bool                              // the peer is the agent itself
	stands  bool                              // the system's stop does not wait for it
	aliases []performatives.ConversationID    // further ids under which it is found
	next    *entry
}

func (e *entry) is(k Key) bool { return e.key.Initiator == k.Initiator && e.key.Peer.Is(k.Peer) }

// over reports whether the conversation has ended, although its End may still be
// on its way.
func (e *entry) over() bool {
	o, ok := e.conv.(interface{ Over() bool })
	return ok && o.Over()
}

// conversations are conversations of one agent by their ids.
type conversations map[performatives.ConversationID]*entry

func (cs conversations) add(e *entry) {
	e.next = cs[e.key.ID]
	cs[e.key.ID] = e
}

// addAlias lets messages that refer to ref find the conversation with key k.
func (cs conversations) addAlias(k Key, ref performatives.ConversationID) {
	e := cs.find(k)
	if e == nil || ref == k.ID || slices.Contains(e.aliases, ref) {
		return
	}
	e.aliases = append(e.aliases, ref)
	cs.index(e, ref)
}

// index lets e be found under a further id.
func (cs conversations) index(e *entry, ref performatives.ConversationID) {
	alias := *e
	alias.next = cs[ref]
	cs[ref] = &alias
}

func (cs conversations) find(k Key) *entry {
	for e := cs[k.ID]; e != nil; e = e.next {
		if e.is(k) {
			return e
		}
	}
	return nil
}

// remove forgets the conversation with key k and returns it.
func (cs conversations) remove(k Key) *entry {
	e := cs.unlink(k)
	if e != nil {
		for _, ref := range e.aliases {
			cs.unlink(Key{ref, k.Peer, k.Initiator})
		}
	}
	return e
}

func (cs conversations) unlink(k Key) *entry {
	var before *entry
	for e := cs[k.ID]; e != nil; before, e = e, e.next {
		if !e.is(k) {
			continue
		}
		switch {
		case before != nil:
			before.next = e.next
		case e.next != nil:
			cs[k.ID] = e.next
		default:
			delete(cs, k.ID)
		}
		return e
	}
	return nil
}

// of returns the conversation that m belongs to, or nil. A peer whose dialect has
// no conversation ids is recognised by what its message answers. Requests are for
// the side that answers and the rest for the side that asked; only where that side
// is not there does the other get what a confused peer has sent, but never what
// the agent has sent itself. An answer that expects one in turn, as the acceptance of
// a proposal may, and a proposal is for whoever asked if it answers a request that the
// other side has got.
func (cs conversations) of(m *performatives.Message) *entry {
	asks := m.Performative().ExpectsReply() && !cs.answers(m)
	if e := cs.on(m, !asks); e != nil {
		return e
	}
	if e := cs.on(m, asks); e != nil && !e.own {
		return e
	}
	return nil
}

// answers reports whether m comes from the answering side although it asks in turn.
func (cs conversations) answers(m *performatives.Message) bool {
	if act := m.Performative(); !act.IsReply() && act != performatives.ActPropose {
		return false
	}
	about := performatives.ConversationID(m.InReplyTo())
	return about != "" && (about == m.ConversationID() || cs.find(Key{about, m.Sender(), false}) != nil)
}

// on returns the conversation on that side that m belongs to, or nil.
func (cs conversations) on(m *performatives.Message, initiator bool) *entry {
	k := Key{m.ConversationID(), m.Sender(), initiator}
	if e := cs.find(k); e != nil {
		return e
	}
	if m.InReplyTo() == "" {
		return nil
	}
	k.ID = performatives.ConversationID(m.InReplyTo())
	return cs.find(k)
}
