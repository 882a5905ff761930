package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// A command is what an agent's cell tells itself to do on its own actor. Those
// that end something come at most once for each thing that was begun, so they are
// exempt from the mailbox's bounds, and they overtake messages, so that a backlog
// does not keep alive what is over.
type command interface{ run(*cell, actor.Context) }

type (
	do struct {
		fn      func(Agent)
		refused func() // called when fn never will be; may be nil
	}
	alarm struct{ do } // of a timer
	watch struct {
		id performatives.AgentID
		fn func(Agent)
	}
	begin struct{ conversation Conversation }
	alias struct {
		key Key
		ref performatives.ConversationID
	}
	end struct {
		conversation Conversation
		late         func(*performatives.Message) bool
	}
	again struct{ message *performatives.Message }
	// lost is the end of a conversation that failed, and may not have said so.
	lost struct {
		key Key
		pid *actor.PID
	}
)

// Control marks the commands that the bounds of a mailbox do not apply to.
func (*alarm) Control() {}
func (*alias) Control() {}
func (*end) Control()   {}
func (*again) Control() {}
func (*lost) Control()  {}

// Priority is that of the conversation, if it has one: an urgent one begins at once.
func (b *begin) Priority() performatives.Priority {
	if c, ok := b.conversation.(prioritized); ok {
		return c.Priority()
	}
	return performatives.Normal
}

func (*alias) Priority() performatives.Priority { return performatives.Urgent }
func (*end) Priority() performatives.Priority   { return performatives.Urgent }
func (*again) Priority() performatives.Priority { return performatives.Urgent }
func (*lost) Priority() performatives.Priority  { return performatives.Urgent }

// hurry says nothing but that whoever gets it is to have its turn first: it brings a
// conversation that was just begun before others.
type hurry struct{}

// Priority is Urgent.
func (hurry) Priority() performatives.Priority { return performatives.Urgent }

// Control exempts it from the bounds of the mailbox.
func (hurry) Control() {}

func (d *do) run(c *cell, _ actor.Context) { d.fn(c.agent) }

func (w *watch) run(c *cell, ctx actor.Context) {
	other, ok := c.sys.lookup(w.id)
	if !ok {
		w.fn(c.agent)
		return
	}
	if c.watching == nil {
		c.watching = make(map[string][]func(Agent))
	}
	pid := other.pid.Load()
	c.watching[pid.GetId()] = append(c.watching[pid.GetId()], w.fn)
	ctx.Watch(pid)
}

// run opens the conversation, unless one of that name is under way. One that is
// over, and whose end is still in the mailbox, is waited for.
func (b *begin) run(c *cell, ctx actor.Context) {
	former := c.convs.find(b.conversation.Key())
	switch {
	case former == nil:
		e := c.open(ctx, b.conversation)
		if b.Priority() == performatives.Urgent {
			ctx.Send(e.pid, hurry{})
		}
	case !former.over():
		c.sys.abandon(b.conversation, ErrConversationExists)
	default:
		if err := c.mailbox.Post(b); err != nil {
			c.sys.abandon(b.conversation, err)
		}
	}
}

func (a *alias) run(c *cell, _ actor.Context) { c.convs.addAlias(a.key, a.ref) }

// run stops the conversation's actor, unless the agent's restart has done so. A
// later conversation of the same name is none of its business.
func (e *end) run(c *cell, ctx actor.Context) {
	key := e.conversation.Key()
	ended := c.convs.find(key)
	switch {
	case ended == nil:
		ended = &entry{key: key, own: key.Peer.Is(c.spec.ID)}
	case ended.conv != e.conversation:
		return
	default:
		c.untrack(key)
		ctx.Stop(ended.pid) // what the cell has given it meanwhile comes back
	}
	if e.late != nil {
		c.remember(ended, e.late)
	}
}

func (a *again) run(c *cell, ctx actor.Context) { c.handle(ctx, a.message) }

func (l *lost) run(c *cell, _ actor.Context) {
	if e := c.convs.find(l.key); e != nil && e.pid == l.pid {
		c.untrack(l.key)
	}
}
