package route

import (
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Link is the way to one run of another node, a pointer. Nil means none.
type Link interface {
	// Ended reports whether the node is lost to this one: what it sends is too late, and it gets
	// nothing.
	Ended() bool
	// Gone is the text for those who send to a node whose link has ended.
	Gone() string
	// Leads reports whether the directory has an agent at the node, which was heard over no other
	// link since.
	Leads(performatives.AgentID) bool
}

// Entry is what the directory says of an agent. The zero value says that it is not there.
type Entry struct {
	Agent  *actors.Registration // nil: it is not in the directory
	Home   Link                 // to its node; nil for an agent of this node: of this process, or of a session
	Link   Link                 // over which it is reached: Home, or the one over which it was heard since
	Placed bool                 // it is of a kind, and of another node
	Roams  bool                 // it is of a session of this node: another node may have it now
}

// Here reports whether the agent is of this node.
func (e Entry) Here() bool { return e.Agent != nil && e.Home == nil }

// Host is where an agent of a kind is to run.
type Host struct {
	Placed bool // there is such a kind
	Here   bool // at this node
	Link   Link // at another node
	May    bool // this node may run it, wherever it is to run
}

// Run is the run of a placed agent on this node. The zero value says that there is none.
type Run struct {
	Number uint64
	Leaves bool // it is about to end: another node may have begun the next one
}

// View is what the node knows. The ids may be in any spelling. The methods are safe for concurrent
// use, and change nothing.
type View interface {
	// Entry looks an agent up in the directory.
	Entry(performatives.AgentID) Entry
	// Heard returns the link over which an agent was heard that is not in the directory, or is
	// there with another node.
	Heard(performatives.AgentID) Link
	// Host picks the node which is to run an agent of a kind, among those but except.
	Host(id performatives.AgentID, except Link) Host
	// RunsElsewhere reports whether another node runs an agent of a kind, by what nodes tell of
	// it, which may not have joined yet.
	RunsElsewhere(performatives.AgentID) bool
	// HandedTo returns the node that an agent was handed over to, until the directory has it
	// there. The link is nil if there is none to that node.
	HandedTo(performatives.AgentID) (to Link, handed bool)
	// Run returns the run of an agent of a kind on this node.
	Run(performatives.AgentID) Run
	// Uplink reports whether there is an uplink, and whether it is connected.
	Uplink() (there, connected bool)
	// HasRun reports whether an agent of this process with that id has stopped, or all do.
	HasRun(performatives.AgentID) bool
	// Unreachable says that the node of an agent which was lost cannot be reached. It is empty for
	// any other agent.
	Unreachable(performatives.AgentID) string
	// Name is the name of this node.
	Name() string
}

// Action is what to do with a message.
type Action uint8

// The actions.
const (
	Refuse    Action = iota // tell the sender why, or count a dead letter
	Deliver                 // to Decision.Entry, an agent of this node
	Send                    // over Decision.Link, as a message of this node
	Pass                    // over Decision.Link, as one that comes from another node, or comes back from it
	Activate                // run the agent at this node: the message is its first one
	Beyond                  // over the uplink
	Broadcast               // to all agents
	Wait                    // and decide again, each time after twice as long; refuse it after a wait of Decision.Limit
)

// Decision is an action for a message, with its operands.
type Decision struct {
	Do    Action
	Entry Entry                  // of Deliver, and of Send where the agent is in the directory
	Link  Link                   // of Send and Pass
	Why   *performatives.Refusal // of Refuse and Wait, without the fields From and About
	Limit time.Duration          // of Wait: the longest of its waits, about half of their sum
	First bool                   // of Send: the message activates a placed agent there
	Learn bool                   // the sender is taken for an agent of the node that has sent the message
}

// Knows reports whether there is a way to an agent: to one of the directory, to one heard over a
// link, or to one that a kind places. Ids beyond an uplink are not among them, because an uplink
// may have all ids that are unknown.
func Knows(v View, id performatives.AgentID) bool {
	return v.Entry(id).Agent != nil || v.Heard(id) != nil || v.Host(id, nil).Placed
}

// ActivatesHere reports whether a message for an agent which is nowhere activates it on this node.
func ActivatesHere(v View, m *performatives.Message) bool { return Opens(m) && host(v, m, nil).Here }

// MaxForwards is how many nodes pass a message on whose receiver is not there any more. So a
// directory that is out of date makes no loop.
const MaxForwards = 3

// Decide returns the decision about a message. to is the entry of its receiver, which the caller
// has looked up. from is the link to the node that has sent it, nil for a message of this node.
// waited is how long the message has waited since it was decided on last, zero for the first
// decision.
//
// A message of another node is delivered to an agent of this one, or to one beyond an uplink. It is
// passed on to a third node only for a placed agent, or as an answer to a placed agent whose
// request this node has passed on.
func Decide(v View, to Entry, m *performatives.Message, from Link, waited time.Duration) Decision {
	switch {
	case from == nil && m.Receiver() == "":
		return Decision{Do: Broadcast}
	case from == nil:
		d := decideOwn(v, to, m, waited)
		if d.Do == Refuse && m.Forwards() > 0 { // it has come back, and the nodes do not agree yet where its receiver is
			return wait(longWait, d.Why)
		}
		return d
	case from.Ended() && m.Forwards() == 0: // the conversations have lost their peers; one that was passed on belongs to a peer on a third node
		return refuse(performatives.CodeStopped, "the node of the sender has gone")
	}
	learn, d := hear(v, m, from, waited)
	switch {
	case d.Why != nil:
		return d
	case m.Receiver() == "":
		d.Do = Broadcast
	case to.Here():
		d = Decision{Do: Deliver, Entry: to}
	default:
		d = decideOther(v, to, m, from, waited)
	}
	d.Learn = learn
	return d
}

// decideOwn decides on a message of this node: of an agent of it, of a session, or one that comes
// back from another node.
func decideOwn(v View, e Entry, m *performatives.Message, waited time.Duration) Decision {
	to := m.Receiver()
	switch {
	case e.Here():
		return Decision{Do: Deliver, Entry: e}
	case e.Agent != nil && !e.Link.Ended():
		return Decision{Do: Send, Link: e.Link, Entry: e}
	case e.Placed && Opens(m): // its node is being given up
		return wait(longWait, performatives.Refused(performatives.CodeStopped, e.Link.Gone()))
	case e.Agent != nil:
		return refuse(performatives.CodeStopped, e.Link.Gone())
	}
	if heard := v.Heard(to); heard != nil && !heard.Ended() {
		return Decision{Do: Send, Link: heard}
	}
	h := host(v, m, nil)
	switch {
	case h.Placed && Opens(m):
		return toHost(v, m, h, waited)
	case m.Performative() == performatives.ActCancel && h.Link != nil && !h.Link.Ended(): // its request may have activated the agent there just now
		return Decision{Do: Send, Link: h.Link}
	case beyond(v, to):
		return Decision{Do: Beyond}
	}
	return nobody(v, to, fmt.Sprintf("there is no agent %q", to))
}

// beyond reports whether an agent that is not in the directory may be beyond an uplink. One that
// has run here is looked for there only while the uplink has a session.
func beyond(v View, id performatives.AgentID) bool {
	there, connected := v.Uplink()
	return connected || there && !v.HasRun(id)
}

// toHost decides on the first message for a placed agent that is not in the directory.
func toHost(v View, m *performatives.Message, at Host, waited time.Duration) Decision {
	switch {
	case at.Here && waited < longWait && v.RunsElsewhere(m.Receiver()):
		return wait(longWait, unsettled)
	case at.Here:
		return Decision{Do: Activate}
	case at.Link == nil:
		return refuse(performatives.CodeStopped, "no node hosts the kind "+placement.KindOf(m.Receiver()))
	case at.Link.Ended(): // since it was picked
		return wait(longWait, unsettled)
	case m.Forwards() > 0: // its record is where it entered
		return Decision{Do: Pass, Link: at.Link}
	}
	return Decision{Do: Send, Link: at.Link, First: true}
}

// hear decides on the sender of a message of another node: what to remember of it, or, with a Why,
// that the message is refused or has to wait. A node that has just begun may host an agent before
// it knows all others. So a request that was passed on waits until this node knows where its sender
// is.
func hear(v View, m *performatives.Message, from Link, waited time.Duration) (learn bool, d Decision) {
	sender, origin, asks := m.Sender(), m.Origin(), m.Performative().ExpectsReply()
	if origin.Forwards > 0 { // the node by which it entered has checked it
		switch {
		case !asks, v.Entry(sender).Agent != nil, v.Heard(sender) != nil:
			return false, d
		case waited < strangerWait:
			return false, wait(strangerWait, stranger)
		case from.Ended():
			return false, refuse(performatives.CodeStopped, "the node of the sender has gone")
		}
		return true, d
	}
	run := v.Run(sender) // before the directory, which an agent that moves leaves first
	// The message is of an earlier run, which that node has handed over. Or it is of the next run,
	// of which that node has yet to tell.
	if origin.Activation != 0 && origin.Activation < run.Number || origin.Activation > run.Number && run.Leaves {
		return false, d
	}
	if from.Leads(sender) {
		return false, d
	}
	e := v.Entry(sender)
	if e.Here() {
		d = refuse(performatives.CodeForbidden, fmt.Sprintf("an agent %q runs on the node %s, too", sender, v.Name()))
		if e.Roams { // its new session is at that node, perhaps, which has yet to tell of it
			d = wait(longWait, d.Why)
		}
		return false, d
	}
	return e.Agent == nil || asks && e.Link != from, d
}

// decideOther decides on a message of another node for an agent that is not of this one.
func decideOther(v View, e Entry, m *performatives.Message, from Link, waited time.Duration) Decision {
	to, opens := m.Receiver(), Opens(m)
	if e.Agent == nil {
		if h := host(v, m, from); h.Here && opens {
			return toHost(v, m, h, waited)
		}
		if beyond(v, to) {
			return Decision{Do: Beyond}
		}
	}
	on := next(v, m, e, from)
	placed := v.Host(to, nil).Placed
	passes := opens && (placed || e.Agent == nil) || !placed && m.InReplyTo() != ""
	switch {
	case on != nil && (m.Forwards() < MaxForwards || waited > 0) && passes:
		switch {
		case !on.Ended():
			return Decision{Do: Pass, Link: on}
		case opens && placed:
			return wait(longWait, unsettled)
		}
		return refuse(performatives.CodeStopped, on.Gone())
	case placed && opens: // it is on its way, and not all nodes know where
		return wait(longWait, unsettled)
	case e.Agent != nil:
		return refuse(performatives.CodeStopped, fmt.Sprintf("the agent %q is not on the node %s", to, v.Name()))
	}
	return nobody(v, to, fmt.Sprintf("there is no agent %q on the node %s", to, v.Name()))
}

// next returns the link to the node of an agent of another node. The agent runs at that node, is to
// be activated there if it is placed, or was heard there if it is not in the directory. Nil means
// none but the node at the other end of from, the sender of the message. It is from if only that
// node hosts the agent's kind, and does not run the agent any more: it sees by the way of the
// message that this one does not.
func next(v View, m *performatives.Message, e Entry, from Link) Link {
	switch {
	case e.Agent == nil:
	case e.Home != from:
		return e.Home
	case !e.Placed: // else it has left there
		return nil
	}
	if heard := v.Heard(m.Receiver()); heard != nil && heard != from {
		return heard
	}
	to, handed := v.HandedTo(m.Receiver())
	if handed && to != from {
		return to
	}
	at := host(v, m, from)
	if at.Link == nil && !at.Here && !handed { // the only host took this node for one, which drains
		at = v.Host(m.Receiver(), nil)
	}
	return at.Link
}

// host is [View.Host] for a message. One that nodes with different views have passed on as often as
// they may stays here, if it can.
func host(v View, m *performatives.Message, except Link) Host {
	h := v.Host(m.Receiver(), except)
	if h.May && m.Forwards() >= MaxForwards {
		h.Here, h.Link = true, nil
	}
	return h
}

// Opens reports whether a message can be the first for an agent. An answer and a CANCEL are for a
// run that has ended.
func Opens(m *performatives.Message) bool {
	if m.Answered() != 0 || m.Performative() == performatives.ActCancel {
		return false
	}
	return m.InReplyTo() == "" || m.Performative().ExpectsReply()
}

// The reasons of those that have waited for too long.
var (
	unsettled = performatives.Refused(performatives.CodeBusy, "the agent moves, and this node does not know where it is")
	stranger  = performatives.Refused(performatives.CodeBusy, "another node has passed the message on, and this node does not know where its sender is")
)

// nobody refuses a message for an agent that the node does not know.
func nobody(v View, id performatives.AgentID, unknown string) Decision {
	if text := v.Unreachable(id); text != "" || v.HasRun(id) {
		return refuse(performatives.CodeStopped, text)
	}
	return refuse(performatives.CodeUnknownAgent, unknown)
}

func refuse(code performatives.Code, text string) Decision {
	return Decision{Do: Refuse, Why: performatives.Refused(code, text)}
}

func wait(limit time.Duration, why *performatives.Refusal) Decision {
	return Decision{Do: Wait, Limit: limit, Why: why}
}

// The longest waits of a message: for an agent that moves, and for an agent or a sender of a node
// that this one does not know yet.
const (
	longWait     = 640 * time.Millisecond
	strangerWait = 4 * longWait
)
