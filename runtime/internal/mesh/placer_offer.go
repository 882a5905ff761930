package mesh

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/performatives"
)

// note is what nodes tell each other about placement.
type note struct {
	Step       step                  `json:"step"`
	Number     uint64                `json:"offer,omitempty"` // of a question of a node of an earlier version, which knows the answer by it
	Agent      performatives.AgentID `json:"agent,omitempty"`
	Activation uint64                `json:"activation,omitempty"` // of the run that has ended where the agent is offered
	First      uint64                `json:"first,omitempty"`      // of the runs that this one has continued
	State      []byte                `json:"state,omitempty"`      // of the agent; of a node that leaves, its part of the directory
	Taken      []taken               `json:"taken,omitempty"`      // the latest requests of the agent
	Ran        bool                  `json:"ran,omitempty"`        // the agent was in memory
	Reason     string                `json:"reason,omitempty"`     // of a refusal
}

// taken is a request that an agent has taken on: see [actors.TakenOn]. The clocks of nodes differ.
type taken struct {
	Sender performatives.AgentID   `json:"sender"`
	ID     performatives.MessageID `json:"id"`
	Left   int64                   `json:"left"` // for how long it is remembered, in milliseconds
}

// takenBy returns the requests that go along with an agent: none with a state that leaves little
// room for them in a message.
func takenBy(r retired) (all []taken) {
	if len(r.state) > nodelink.MaxMessage/2 {
		return nil
	}
	for _, one := range r.TakenOn() {
		all = append(all, taken{one.Sender, one.ID, time.Until(one.Until).Milliseconds()})
	}
	return all
}

// takenOn returns the requests that have come along with an agent.
func (h note) takenOn() (all []actors.TakenOn) {
	now := time.Now()
	for _, one := range h.Taken {
		left := min(one.Left, actors.MaxRequestAge.Milliseconds())
		all = append(all, actors.TakenOn{Sender: one.Sender, ID: one.ID, Until: now.Add(time.Duration(left) * time.Millisecond)})
	}
	return all
}

// step is the kind of a note.
type step string

const (
	stepOffer   step = "offer"   // the receiver is to run the agent, which has stopped; the sender keeps it until the answer
	stepTaken   step = "taken"   // the answer: a run of it is here, and the messages for it may come
	stepRefused step = "refused" // the answer: it is not taken, for that reason
	stepLeaves  step = "leaves"  // the sender is about to leave
	stepHeard   step = "heard"   // the answer to that: all messages that were on the way have passed

	unanswered step = "" // the node was lost, and may have got the question
)

// PlacementProtocol is the protocol of the message with a note.
const PlacementProtocol = "ribosome-placement"

// movers is how many agents are offered to other nodes at once.
const movers = 64

// offerAgain is how long the placer waits before it offers an agent again that was refused; it
// doubles with each round, up to a second.
const offerAgain = 50 * time.Millisecond

// offerAround offers an agent that has stopped to the node that is to run it, until that takes it.
// It returns the node, or nil if the agent is to run here: it was refused, or this node is to run
// it. A node that drains offers it to the next node after a refusal, and to all again when each has
// refused it: one that drains, too, is soon known to host nothing. The error is that no other node
// takes it.
func (p *placer) offerAround(ctx context.Context, a *activation, r retired) (*nodeLink, error) {
	own := p.runOf(a.Agent)
	h := note{Step: stepOffer, Agent: a.Agent, Activation: own.Since, First: own.First, State: r.state, Ran: r.ran, Taken: takenBy(r)}
	var refused []*nodeLink // in this round
	err := fmt.Errorf("no other node hosts the kind %s", a.kind.name)
	for wait := offerAgain; ; wait = min(2*wait, time.Second) {
		at, draining := p.pick(a.Agent, refused...), p.draining.Load() // also if it was not when that was picked
		if at.Link == nil && refused != nil {
			refused, at = nil, p.pick(a.Agent)
		}
		to, _ := at.Link.(*nodeLink)
		switch {
		case at.Here:
			return nil, nil
		case to == nil:
			return nil, err
		case !to.Ended(): // else its next link is listed in a moment
			switch answer := await(ctx, p.node.System, p.ask(to, h)); answer.Step { //nolint:exhaustive // any other one is a refusal
			case stepTaken:
				return to, nil
			case unanswered:
			default:
				err = fmt.Errorf("the node %s: %s", to.peer.Name, answer.Reason)
				if !draining {
					p.node.System.Logger().Warn("an agent was not handed over", "agent", a.Agent, "err", err)
					p.retryLater()
					return nil, nil
				}
				refused = append(refused, to)
			}
		}
		if !p.pause(ctx, wait) {
			return nil, fmt.Errorf("%w; %w", err, context.Cause(ctx))
		}
	}
}

// pause waits. It reports false if ctx ends before.
func (p *placer) pause(ctx context.Context, d time.Duration) bool {
	await(ctx, p.node.System, time.After(d))
	return ctx.Err() == nil
}

// await waits until done is closed, or has a value, which it returns, or ctx ends.
func await[T any](ctx context.Context, s *actors.System, done <-chan T) (v T) {
	turn := s.Turn()
	select {
	case v = <-done:
	case <-ctx.Done():
		select {
		case v = <-done: // it has come as well
		default:
		}
	}
	turn()
	return v
}

// ask sends a node a note, one about an agent at a time. It returns a channel for one answer: that
// of the node, stepRefused if the note does not leave this node, or unanswered if the link ends
// before.
func (p *placer) ask(l *nodeLink, h note) <-chan note {
	answer := make(chan note, 1)
	p.mu.Lock()
	l.asked[h.Agent] = answer
	p.mu.Unlock()
	if err := p.tell(l, h); err != nil {
		p.answered(l, note{Step: stepRefused, Agent: h.Agent, Reason: err.Error()})
	}
	return answer
}

// answered passes on the answer to a question, unless it has one.
func (p *placer) answered(l *nodeLink, h note) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if answer := l.asked[h.Agent]; answer != nil {
		delete(l.asked, h.Agent)
		answer <- h
	}
}

// unanswered ends the questions to a node whose link has ended.
func (p *placer) unanswered(l *nodeLink) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, agent := range slices.Sorted(maps.Keys(l.asked)) {
		l.asked[agent] <- note{Step: unanswered}
	}
	clear(l.asked)
}

// tell sends a note. One about an agent passes all messages, and any other comes behind all.
func (p *placer) tell(l *nodeLink, h note) error {
	if l.Ended() { // the two nodes may have another link by now
		return performatives.Refused(performatives.CodeStopped, l.Gone())
	}
	priority := performatives.Urgent
	if h.Agent == "" {
		priority = performatives.Low
	}
	stamp := p.node.System.Stamp()
	m, err := performatives.New(performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Performative: performatives.ActInform, Sender: p.node.self, Receiver: performatives.AgentID(l.peer.Name),
		Protocol: PlacementProtocol, Priority: priority, Payload: h,
	})
	if err != nil {
		return err
	}
	return l.Send(m)
}

// handleNote handles a note of another node.
func (p *placer) handleNote(l *nodeLink, m *performatives.Message) {
	h, err := performatives.PayloadAs[note](m)
	if err != nil {
		p.node.System.Logger().Warn("a note about the placement was not understood", "peer", l.peer.Name, "err", err)
		return
	}
	switch h.Step { //nolint:exhaustive // the others are answers
	case stepLeaves:
		l.leaves.Store(true)
		p.node.cluster.Merge(h.State)
		p.node.cluster.refresh()
		p.reply(l, note{Step: stepHeard, Number: h.Number})
	case stepOffer:
		p.reply(l, p.take(l.peer, h))
	default:
		p.answered(l, h)
	}
}

// reply sends the answer to a question, again if the link is full.
func (p *placer) reply(l *nodeLink, answer note) {
	p.node.System.Work(func() {
		for p.tell(l, answer) != nil && !l.Ended() && p.pause(p.ctx, offerAgain) {
			continue
		}
	})
}

// take takes over an agent that another node offers, and returns the answer. It is stepTaken, too,
// if this node runs the agent already, and its run has precedence over that of the other node.
func (p *placer) take(from cluster.Incarnation, h note) (answer note) {
	answer = note{Step: stepTaken, Number: h.Number, Agent: h.Agent}
	theirs := directory.Entry{Owner: from, Placed: true, Since: h.Activation, First: h.First}
	err := p.takeOver(theirs, h)
	switch run := p.runOf(h.Agent); {
	case err == nil:
	case run.Since == 0, run.Compare(theirs) > 0:
		answer.Step, answer.Reason = stepRefused, err.Error()
	case !run.Continues(theirs): // else the answer was lost
		p.node.System.Logger().Warn("an activation of another node ends, and its state is lost: this node has activated the agent before",
			"agent", h.Agent, "peer", from.Name, "state", len(h.State))
	}
	return answer
}

// takeOver begins the next run of an agent, after that of another node.
func (p *placer) takeOver(theirs directory.Entry, h note) error {
	k, hosted := p.kindOf(h.Agent)
	if !hosted || !p.pick(h.Agent).Placed {
		return errors.New("it does not host the kind")
	}
	c := p.node.cluster
	p.node.handover.Lock()
	c.withdrawLocked(h.Agent)
	v, a, err := p.reserve(k, h.Agent, theirs)
	p.node.handover.Unlock()
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.outdateLocked(h.Agent)
		return err
	}
	v.TakeOn(h.takenOn())
	r := retired{v, h.State, h.Ran}
	if h.Ran {
		p.start(a, r)
		return nil
	}
	p.keep(a, r)
	return nil
}

// yieldTime is how long the conversations of an agent go on that another node runs, too.
const yieldTime = time.Second

// timeBefore returns ctx without a part of the time that is kept for the stop of the node: all of
// it, or one of that many parts.
func timeBefore(ctx context.Context, parts int) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	kept := min(time.Until(end)/2, 3*time.Second)
	return context.WithDeadline(ctx, end.Add(-kept/time.Duration(max(parts, 1))))
}
