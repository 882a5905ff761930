package codons

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Info is one side of a conversation that is under way.
type Info struct {
	ID       performatives.ConversationID `json:"conversation_id"`
	Parent   performatives.ConversationID `json:"parent_conversation_id,omitempty"` // in whose work it was begun; empty without one
	Protocol string                       `json:"protocol"`
	Role     machine.Role                 `json:"role"`
	Agent    performatives.AgentID        `json:"agent"` // whose side it is
	Peer     performatives.AgentID        `json:"peer"`
	State    machine.State                `json:"state"`
	Began    time.Time                    `json:"began"`
	Since    time.Time                    `json:"since"`             // when it came to the state
	Path     []machine.State              `json:"path,omitempty"`    // its last states, as in [lifecycle.Ended]; the caller's
	Deadline time.Time                    `json:"deadline,omitzero"` // when the deadline timer is due; zero while none runs
	Budget   Budget                       `json:"budget,omitempty"`  // what the work may use; nil without a limit

	// Left is the unused part of Budget, without the parts lent to conversations that the
	// work has under way, as [BudgetLeft] returns it. Nil on the initiator's side, which learns the
	// use at the end. The map is the caller's.
	Left Budget `json:"budget_left,omitempty"`
}

// Conversations returns the conversations that are under way in a system, both sides of
// each, the oldest first. Conversations of other kinds than this package's are left out.
// It may be called from any goroutine; what it returns may have changed already.
func Conversations(system *actors.System) []Info { return infos(system.Conversations()) }

// ConversationsWith is [Conversations] for those that have an id: mostly both sides of one. It
// looks the id up at each agent, whatever the number of conversations.
func ConversationsWith(system *actors.System, id performatives.ConversationID) []Info {
	return infos(system.ConversationsWith(id))
}

func infos(of iter.Seq[actors.Conversation]) (all []Info) {
	for c := range of {
		if c, ok := c.(*Conversation); ok && !c.Over() {
			all = append(all, c.Info())
		}
	}
	slices.SortFunc(all, func(a, b Info) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Peer, b.Peer))
	})
	return all
}

// Children returns the ids of the conversations under way in a system that were begun in the work
// of a conversation, sorted. It compares the parent of each conversation under way. It may be
// called from any goroutine. The caller owns the result.
func Children(system *actors.System, of performatives.ConversationID) (ids []performatives.ConversationID) {
	for c := range system.Conversations() {
		if c, ok := c.(*Conversation); ok && !c.Over() && ParentOf(c.first) == of {
			ids = append(ids, c.key.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids) // a conversation has two sides
}

// Withdraw cancels the conversations with an id on behalf of their caller, who gets cause in the
// error: the peer gets CANCEL, whose reason is the cause if that is [ErrOperator] or wraps it (see
// [ByOperator]). There is one, or those of a group. It returns at once. withdrawn is the number of
// initiators' sides with the id that were under way in the system. It may be called from any
// goroutine.
func Withdraw(system *actors.System, id performatives.ConversationID, cause error) (withdrawn int) {
	for c := range system.ConversationsWith(id) {
		if c, ok := c.(*Conversation); ok && c.key.Initiator && !c.Over() {
			c.withdraw(cause)
			withdrawn++
		}
	}
	return withdrawn
}

// progress is the part of a conversation's state that other goroutines may read.
type progress struct {
	mu       sync.Mutex
	state    machine.State
	since    time.Time
	path     *visited // see [lifecycle.Ended]; nil while no subscription has wanted it
	deadline time.Time
	work     *scope // that of the conversation
}

// Info returns where the conversation stands. Safe for concurrent use.
func (c *Conversation) Info() Info {
	allowance, _ := BudgetOf(c.first) // one that makes no sense is refused by the conversation
	c.progress.mu.Lock()
	defer c.progress.mu.Unlock()
	i := Info{
		ID: c.key.ID, Parent: ParentOf(c.first), Protocol: c.codon.Name(), Role: c.role(), Agent: c.self, Peer: c.key.Peer,
		State: c.progress.state, Began: c.timers.began, Since: c.progress.since, Path: slices.Clone(c.progress.path.states()), Deadline: c.progress.deadline,
		Budget: allowance,
	}
	if !c.key.Initiator {
		i.Left = c.progress.work.left(allowance)
	}
	return i
}

// left returns the unused part of an allowance. s is nil before the first job.
func (s *scope) left(allowance Budget) Budget {
	if s == nil || allowance == nil {
		return maps.Clone(allowance)
	}
	left := s.account.remaining()
	if _, limited := allowance[Depth]; limited {
		left[Depth] = s.depth
	}
	return left
}

// show makes the state known to other goroutines.
func (c *Conversation) show() {
	c.progress.mu.Lock()
	defer c.progress.mu.Unlock()
	if c.progress.state != c.at.State {
		if events.Wants[lifecycle.Ended](&c.agent.System().Events) {
			c.enterLocked(c.at.State)
		}
		c.progress.state, c.progress.since = c.at.State, c.at.Updated
	}
	c.progress.deadline = c.Value.deadline
}

// enterLocked enters a new state into the path, which begins with the state before the first one
// that is entered.
func (c *Conversation) enterLocked(state machine.State) {
	p, known := &c.progress, &c.codon.paths
	if p.path == nil || p.path.last() != p.state { // at first, or as for a while no subscription wanted the ends
		p.path = known.after(nil, p.state)
	}
	p.path = known.after(p.path, state)
}
