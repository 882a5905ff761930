package actors

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// PeerLost is received by a [Conversation] whose peer's destination has gone: see
// [System.LosePeers]. The conversation receives it once in each band, so that it comes behind all
// messages that were queued before. The peer is lost with the last reception, for which Reached
// reports true.
type PeerLost struct {
	// Code is the reason.
	Code performatives.Code
	// Text says why the destination is gone, such as which node cannot be reached. Empty means the
	// text of Code.
	Text string

	marks int // how many receptions were counted
}

// Reached counts the receptions. It reports true with the last one. Only the conversation may call
// it, once for each reception.
func (p *PeerLost) Reached() bool {
	p.marks++
	return p.marks == performatives.Bands
}

// LosePeers tells all conversations with the given agents of other processes that their destination
// has gone: a session has ended, or a node has died. A conversation receives the [PeerLost] after
// all messages of these agents that were delivered before the call. A message delivered after the
// call belongs to the next destination of the agent, and a conversation opened by it is not told. A
// destination is therefore replaced in this order: its last message is delivered, LosePeers is
// called, and the next destination delivers its first. The handshakes with these agents are
// forgotten.
//
// A call of [Self.Ask] that is the only memory of its request to one of them is answered by FAILURE
// in that agent's name: see [Registration.AccountFor].
//
// LosePeers does not block.
func (s *System) LosePeers(code performatives.Code, peers ...performatives.AgentID) {
	s.losePeers(peersLost{code: code, number: math.MaxUint64}, peers)
}

// LoseWorkers is [System.LosePeers] for an agent that goes on at its next destination with what it
// has asked: it tells only the conversations that agents of this process have opened. What the
// others send goes to the next destination.
func (s *System) LoseWorkers(code performatives.Code, peers ...performatives.AgentID) {
	s.losePeers(peersLost{code: code, number: math.MaxUint64, workers: true}, peers)
}

// PeerLoss is a loss of destinations that has begun: see [System.BeginLoss].
type PeerLoss struct {
	system *System
	number uint64
}

// BeginLoss begins the loss of destinations, which ends with [PeerLoss.Lose]. It is for a caller
// that lets agents of this process send to the next destinations before Lose tells the
// conversations with the lost ones. A conversation that an agent of this process opens after the call is with the
// next destination. The caller ensures that its messages go there, or come back.
func (s *System) BeginLoss() PeerLoss { return PeerLoss{s, s.losses.Add(1)} }

// Lose is [System.LosePeers] with a text, except that it does not tell conversations that agents of
// this process have opened since [System.BeginLoss].
func (l PeerLoss) Lose(why performatives.Failure, peers ...performatives.AgentID) {
	l.system.losePeers(peersLost{code: why.ErrorCode, text: why.ErrorText, number: l.number}, peers)
}

// losePeers begins a loss of those peers in each agent that may have a conversation with one.
func (s *System) losePeers(loss peersLost, peers []performatives.AgentID) {
	lost := make(map[performatives.AgentID]bool, len(peers))
	for _, id := range peers {
		lost[id.Fold()] = true
	}
	var told []*cell
	for c := range s.registrations.locals() {
		for id := range lost {
			Self{c}.Forget(id)
		}
		if c.conversations.hasPeer(lost) || len(c.requests.Load().lost(lost)) > 0 || c.mailbox.UserMessageCount() > 0 {
			told = append(told, c)
		}
	}
	slices.SortFunc(told, func(a, b *cell) int { return cmp.Compare(a.folded, b.folded) })
	for _, c := range told {
		l := loss
		l.peers = lost
		for band := range performatives.Bands {
			_ = Self{c}.post(&lossMark{&l, performatives.Low + performatives.Priority(band)}) // the only error is that the agent has stopped
		}
	}
}

// peersLost is a call of [System.LosePeers] on its way through the mailbox of one agent.
type peersLost struct {
	peers   map[performatives.AgentID]bool // folded
	code    performatives.Code
	text    string                    // empty for that of the code
	number  uint64                    // of the loss: conversations that this agent has opened since are not told; see entry.losses
	workers bool                      // only conversations that this agent has opened are told
	passed  [performatives.Bands]bool // the bands whose mark was received
	marks   int
	later   []*entry // conversations that were opened behind the mark of their band
	next    *peersLost
}

// lossMark is the last message of a band before the loss.
type lossMark struct {
	loss     *peersLost
	priority performatives.Priority
}

func (*lossMark) Control() {}

func (m *lossMark) Priority() performatives.Priority { return m.priority }

// run tells the conversations once the marks of all bands were received.
func (m *lossMark) run(c *cell, _ actor.Context) {
	l := m.loss
	if l.marks == 0 {
		l.next, c.losses = c.losses, l
	}
	l.passed[m.priority.Band()] = true
	if l.marks++; l.marks < performatives.Bands {
		return
	}
	at := &c.losses
	for *at != l {
		at = &(*at).next
	}
	*at = l.next
	c.requests.Load().lose(l, c.sys.opts.Stamper)
	for _, id := range slices.Sorted(maps.Keys(c.conversations.byID)) {
		for e := range c.conversations.named(id) {
			if l.peers[e.key.Peer.Fold()] && e.losses < l.number && (e.key.Initiator || !l.workers) && !slices.Contains(l.later, e) {
				e.conversation.Actor().losePeer(&PeerLost{Code: l.code, Text: l.text})
			}
		}
	}
}

// opened records a conversation that was opened by a message of a band.
func (l *peersLost) opened(e *entry, band int) {
	if l.passed[band] && l.peers[e.key.Peer.Fold()] {
		l.later = append(l.later, e)
	}
}

// losePeer queues the loss of the peer behind the messages of each band.
func (a *ConversationActor) losePeer(p *PeerLost) {
	for band := range performatives.Bands {
		a.post(p, band, true)
	}
}

// hasFolded reports whether a set of folded ids has the id. It allocates nothing for an id in
// ASCII.
func hasFolded(set map[performatives.AgentID]bool, id performatives.AgentID) bool {
	var room [performatives.MaxIDLength]byte
	if len(id) > len(room) {
		return set[id.Fold()]
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= utf8.RuneSelf:
			return set[id.Fold()]
		case 'A' <= c && c <= 'Z':
			room[i] = c + 'a' - 'A'
		default:
			room[i] = c
		}
	}
	return set[performatives.AgentID(room[:len(id)])]
}
