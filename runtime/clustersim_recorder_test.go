package runtime_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/account"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// clusterRecorder records what the events of all nodes say of messages and conversations. Its
// swarm's mu guards it.
type clusterRecorder struct {
	sources   []*clusterEvents
	messages  account.Messages[p.MessageID] // those with one receiver
	sent      map[p.MessageID]clusterSent
	uncertain map[p.MessageID]int // how often a copy was returned that may have arrived
	passed    map[p.MessageID]int // copies that were given to links, and not passed on from another one
	refused   map[p.MessageID]int // copies of requests that were refused by another node, which has to say so
	answered  map[p.MessageID]int // refusals of them that were given to links
	sides     map[simSide][]*clusterRun

	// The conversations whose requests a node has passed on to one that was lost then. The asker
	// gets FAILURE(disconnected), which stands for the loss of a peer: the request may have
	// arrived, or not.
	lostOnTheWay map[p.ConversationID]bool
	passedOn     map[p.MessageID][]*clusterNode // the nodes that have passed messages to further ones

	jumps []time.Time // of the clocks of nodes

	order  []simSide // keys of sides, in order of creation
	broken []string
	losses tally // of nodes at others, by how
}

// nodeGone is the text of the refusal that nobody is told, because the conversations have lost
// their peers before.
const nodeGone = "the node of the sender has gone"

// clusterSent is what was sent under an id.
type clusterSent struct {
	node        *clusterNode
	first, last time.Time
	message     *p.Message
}

// clusterEvents are the events of one run of a node.
type clusterEvents struct {
	*events.Subscription
	node      *clusterNode
	handling  p.MessageID // what a conversation has just handled
	handledAt time.Time
	replyBy   map[p.AgentID]map[string]deadline // of the conversations of its agents
	lost      map[string]bool                   // the nodes that it has lost, and that have not joined again
	unsent    map[string][]unsentRefusal        // by the node of the asker
}

// unsentRefusal is a refusal that had no way to its asker.
type unsentRefusal struct {
	at    time.Time
	about p.MessageID
}

type deadline = time.Time

// clusterRun is one side of a conversation at one run of a node.
type clusterRun struct {
	node           *clusterNode
	began, endedAt time.Time
	state          machine.State
	ended          bool
	met            map[machine.Symbol]bool // the events of its steps
	due            time.Time               // the latest ReplyBy that this side knew; zero: none
}

// died reports whether the node crashed before the side had ended.
func (run *clusterRun) died() bool {
	return run.node.crashed && (!run.ended || !run.endedAt.Before(run.node.crashedAt))
}

func newClusterRecorder() *clusterRecorder {
	return &clusterRecorder{
		sent: make(map[p.MessageID]clusterSent), uncertain: make(map[p.MessageID]int), passed: make(map[p.MessageID]int),
		refused: make(map[p.MessageID]int), answered: make(map[p.MessageID]int),
		sides: make(map[simSide][]*clusterRun), lostOnTheWay: make(map[p.ConversationID]bool), passedOn: make(map[p.MessageID][]*clusterNode),
	}
}

// follow records the events of a node from now on.
func (r *clusterRecorder) follow(c *clusterNode) {
	r.sources = append(r.sources, &clusterEvents{
		Subscription: c.Events().Subscribe(events.SubscribeOptions{Capacity: 1 << 12, Kinds: []events.Kind{
			events.KindMessageSent, events.KindMessageReceived, events.KindMessageRefused, events.KindMessageDeadLettered, lifecycle.KindTransition,
			runtime.KindMemberLost, runtime.KindMemberJoined,
		}}),
		node: c, replyBy: make(map[p.AgentID]map[string]deadline), lost: make(map[string]bool), unsent: make(map[string][]unsentRefusal),
	})
}

// handled counts a message that was handled without a codon.
func (s *clusterSwarm) handled(m *p.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorder.messages.Count(m.ID(), account.Handled)
}

// passes counts a message that a node passes to another one.
func (s *clusterSwarm) passes(by *clusterNode, m *p.Message) {
	if m.Protocol() == runtime.PlacementProtocol {
		return // nodes tell each other, and no agent handles it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Receiver() != "" && m.Forwards() == 0 {
		s.recorder.passed[m.ID()]++
	}
	if m.AsRefusal() != nil {
		s.recorder.answered[p.MessageID(m.InReplyTo())]++
	}
	if m.Forwards() > 0 {
		s.recorder.passedOn[m.ID()] = append(s.recorder.passedOn[m.ID()], by)
	}
	if saysLost(m) {
		s.recorder.lostOnTheWay[m.ConversationID()] = true
	}
}

// saysLost reports whether m is the FAILURE of a node that has passed a request for a placed agent
// to a node that was lost.
func saysLost(m *p.Message) bool {
	f, err := p.PayloadAs[p.Failure](m)
	return err == nil && f.ErrorCode == p.CodeDisconnected && placement.KindOf(m.Sender()) == clusterKind
}

// observe takes in what was published since the last call.
func (r *clusterRecorder) observe() {
	for _, stream := range r.sources {
		for len(stream.C) > 0 {
			r.take(stream, (<-stream.C).Event)
		}
	}
}

func (r *clusterRecorder) take(of *clusterEvents, ev events.Event) {
	switch e := ev.(type) {
	case events.MessageSent:
		// A node also publishes what it passes on from another one, and what others have passed on
		// to it comes to its own agents in this way, too.
		if m := e.Message; m.Receiver() != "" && m.Forwards() == 0 && strings.HasPrefix(string(m.ID()), of.node.prefix) {
			r.messages.Count(m.ID(), account.Accepted)
			sent, again := r.sent[m.ID()]
			if !again {
				sent = clusterSent{node: of.node, first: e.Time, message: m}
			}
			sent.last = e.Time
			r.sent[m.ID()] = sent
			of.noteDeadline(m.Sender(), m)
		}
	case events.MessageReceived:
		of.handling = ""
		r.checkDeadline(of, e)
		if saysLost(e.Message) && r.passedOn[p.MessageID(e.Message.InReplyTo())] != nil { // by the agent's own node
			r.lostOnTheWay[e.Message.ConversationID()] = true
		}
		of.noteDeadline(e.Agent, e.Message)
		if e.Agent.Is(p.AgentID(of.node.Name())) { // it has no conversations: it asks
			of.handling, of.handledAt = e.Message.ID(), e.Time
			r.messages.Count(of.handling, account.Handled)
		}
	case events.MessageRefused:
		if sent, ok := r.inStep(of, e.Message); ok && e.Refusal.Code == p.CodeExpired && e.Time.Before(sent.message.ReplyBy()) {
			r.broken = append(r.broken, fmt.Sprintf("%s: %s expires at %s, %v too early", of.node.Name(), e.Message.ID(), e.Message.Receiver(), sent.message.ReplyBy().Sub(e.Time)))
		}
		if sent, ok := r.sent[e.Message.ID()]; ok && sent.node != of.node && sent.message.Performative().ExpectsReply() &&
			e.Message.ID() != of.handling && !of.node.crashed && e.Refusal.Text != nodeGone {
			r.refused[e.Message.ID()]++
		}
		r.ended(of, e.Time, e.Message, account.Refused, e.Refusal.Code)
	case events.DeadLetter:
		if m, ok := e.Message.(*p.Message); ok {
			if m.AsRefusal() != nil && e.Code == p.CodeConversationEnded { // its receiver was told an end before
				r.answered[p.MessageID(m.InReplyTo())]++
			}
			if asker := r.sent[p.MessageID(m.InReplyTo())].node; asker != nil && e.Code == p.CodeStopped { // to an agent of a node that is lost, which loses this one
				if of.lost[asker.Name()] {
					r.answered[p.MessageID(m.InReplyTo())]++
				} else {
					of.unsent[asker.Name()] = append(of.unsent[asker.Name()], unsentRefusal{e.Time, p.MessageID(m.InReplyTo())})
				}
			}
			r.ended(of, e.Time, m, account.Dead, e.Code)
		}
	case runtime.MemberLost:
		of.lost[e.Node] = true
		for _, u := range of.unsent[e.Node] {
			if u.at.Equal(e.Time) {
				r.answered[u.about]++
			}
		}
		delete(of.unsent, e.Node)
		r.losses.count("a node " + e.Reason)
	case runtime.MemberJoined:
		delete(of.lost, e.Node)
	case lifecycle.Transition:
		of.handling, of.handledAt = e.Message, e.Time
		if e.Message != "" {
			r.messages.Count(e.Message, account.Handled)
		}
		r.step(of, e)
	}
}

// ended counts a message that was refused or dead-lettered, unless a conversation has failed on it,
// or has dropped it by its table.
func (r *clusterRecorder) ended(of *clusterEvents, at time.Time, m *p.Message, how account.Outcome, code p.Code) {
	if m.ID() == of.handling && at.Equal(of.handledAt) && code != p.CodeStopped { // nor is it another copy, for which an agent that stops has no time
		return
	}
	r.messages.Count(m.ID(), how)
	if code == p.CodeDisconnected {
		r.uncertain[m.ID()]++
	}
}

// inStep returns how a message was sent, if the clocks of both nodes have not jumped since, nor
// those of others if it was passed on.
func (r *clusterRecorder) inStep(of *clusterEvents, m *p.Message) (clusterSent, bool) {
	sent, ok := r.sent[m.ID()]
	passedOn := m.Forwards() > 0 && slices.ContainsFunc(r.jumps, sent.first.Before)
	return sent, ok && sent.node.jumped.Before(sent.first) && of.node.jumped.Before(sent.first) && !passedOn
}

// checkDeadline checks that a message has the same time left at its receiver, but for the time on
// the way.
func (r *clusterRecorder) checkDeadline(of *clusterEvents, e events.MessageReceived) {
	sent, ok := r.inStep(of, e.Message)
	if !ok {
		return
	}
	more := e.Message.ReplyBy().Sub(sent.message.ReplyBy())
	if more < 0 || more > e.Time.Sub(sent.first) {
		r.broken = append(r.broken, fmt.Sprintf("%s: the deadline of %s is %v later at %s", of.node.Name(), e.Message.ID(), more, e.Agent))
	}
}

// noteDeadline notes what an agent knows of the deadline of a conversation.
func (of *clusterEvents) noteDeadline(agent p.AgentID, m *p.Message) {
	if m.ReplyBy().IsZero() {
		return
	}
	all := of.replyBy[agent.Fold()]
	if all == nil {
		all = make(map[string]deadline)
		of.replyBy[agent.Fold()] = all
	}
	if id := string(m.ConversationID()); all[id].Before(m.ReplyBy()) {
		all[id] = m.ReplyBy()
	}
}

// step records a step of a conversation.
func (r *clusterRecorder) step(of *clusterEvents, e lifecycle.Transition) {
	side := simSide{e.Conversation, e.Protocol, e.Agent.Fold(), e.Peer.Fold(), e.Role}
	runs := r.sides[side]
	if runs == nil {
		r.order = append(r.order, side)
	}
	var run *clusterRun
	for _, other := range runs {
		if other.node == of.node {
			run = other
		}
	}
	switch {
	case e.From == machine.Idle:
		run = &clusterRun{node: of.node, began: e.Time, met: make(map[machine.Symbol]bool)}
		r.sides[side] = append(runs, run)
	case run == nil:
		r.broken = append(r.broken, string(e.Conversation)+": a step before any other")
		return
	}
	if e.Ended && !run.ended {
		run.endedAt, run.due = e.Time, of.replyBy[e.Agent.Fold()][string(e.Conversation)]
	}
	run.state, run.ended = e.To, e.Ended
	run.met[e.On] = true
}
