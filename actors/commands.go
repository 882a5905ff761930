package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// command is a message from an agent's handle to its cell, run on the agent's actor.
// Commands that end something are sent at most once for each thing that was begun:
// [Mailbox.post] exempts them from the mailbox's bounds and gives them urgent priority, so that a
// backlog of messages does not delay the end.
type command interface{ run(*cell, actor.Context) }

type (
	do struct {
		fn      func(Agent)
		refused func() // called instead of fn when the agent has stopped; may be nil
	}
	timerFired struct{ do } // do, sent by a timer
	watch      struct {
		id performatives.AgentID
		fn func(Agent)
	}
	// removed reports the removal of a watched agent of another process.
	removed struct{ name string }
	begin   struct{ conversation Conversation }
	alias   struct {
		key Key
		ref performatives.ConversationID
	}
	end struct {
		conversation Conversation
		tombstone    Tombstone // nil for none
	}
	redelivery struct{ message *performatives.Message }
	// conversationFailed reports the end of a conversation that failed, and may not have
	// called [Self.End].
	conversationFailed struct{ actor *ConversationActor }
)

// Control exempts these commands from the mailbox's bounds.
func (*timerFired) Control() {}
func (*removed) Control()    {}

// Priority returns the priority of the conversation, if it has one.
func (b *begin) Priority() performatives.Priority {
	if c, ok := b.conversation.(prioritized); ok {
		return c.Priority()
	}
	return performatives.Normal
}

func (d *do) run(c *cell, _ actor.Context) { d.fn(c.agent) }

func (w *watch) run(c *cell, ctx actor.Context) {
	r, ok := c.sys.Find(w.id)
	switch {
	case !ok:
		w.fn(c.agent)
		return
	case r.local == nil:
		name := removedPrefix + string(r.folded)
		c.addWatcher(name, w.fn)
		if len(c.watchers[name]) == 1 {
			if c.removals == nil {
				c.removals = make(map[string]func())
			}
			c.removals[name] = r.watchRemoval(func() { _ = Self{c}.post(&removed{name}) }) // the only error is that the agent has stopped
		}
		return
	}
	pid := r.local.pid.Load()
	c.addWatcher(pid.GetId(), w.fn)
	ctx.Watch(pid)
}

// removedPrefix begins the names of agents of other processes in cell.watchers. No actor has such a
// name.
const removedPrefix = "\x00"

// unwatch ends the watches, so that the watched agents do not keep this one in memory.
func (c *cell) unwatch(ctx actor.Context) {
	for name := range c.watchers {
		if cancel := c.removals[name]; cancel != nil {
			cancel()
			continue
		}
		ctx.Unwatch(actor.NewPID(ctx.Self().GetAddress(), name))
	}
}

func (c *cell) addWatcher(name string, fn func(Agent)) {
	if c.watchers == nil {
		c.watchers = make(map[string][]func(Agent))
	}
	c.watchers[name] = append(c.watchers[name], fn)
}

func (r *removed) run(c *cell, _ actor.Context) { c.runWatchers(r.name) }

// run opens the conversation. When a conversation with the same key is open, the new one
// fails with [ErrConversationExists]. When that conversation is over and its end command
// is still queued, run posts the command again, to wait for it.
func (b *begin) run(c *cell, _ actor.Context) {
	former := c.conversations.find(b.conversation.Key())
	switch {
	case former == nil:
		c.open(b.conversation, nil, b.Priority())
	case !former.conversation.Actor().over():
		c.sys.abandon(b.conversation, ErrConversationExists)
	default:
		if err := c.mailbox.Post(b); err != nil {
			c.sys.abandon(b.conversation, err)
		}
	}
}

func (a *alias) run(c *cell, _ actor.Context) { c.conversations.addAlias(a.key, a.ref) }

// run keeps the tombstone. It ignores a later conversation with the same key. After a
// restart of the agent the entry is missing.
func (e *end) run(c *cell, _ actor.Context) {
	key := e.conversation.Key()
	ended := c.conversations.find(key)
	switch {
	case ended == nil:
		ended = &entry{key: key, withSelf: key.Peer.Is(c.id)}
	case ended.conversation != e.conversation:
		return
	default:
		c.untrack(key)
	}
	if e.tombstone != nil {
		c.addTombstone(ended, e.tombstone)
	}
}

func (a *redelivery) run(c *cell, ctx actor.Context) { c.handle(ctx, a.message) }

func (l *conversationFailed) run(c *cell, _ actor.Context) {
	key := l.actor.conversation.Key()
	if e := c.conversations.find(key); e != nil && e.conversation.Actor() == l.actor {
		c.untrack(key)
	}
}
