package observe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Failure is a failure of code of an agent: the error or the panic of a job
// ([lifecycle.JobFailed]), or one about which its supervisor has decided ([events.Supervised]).
type Failure struct {
	Node         string                       `json:"node"` // that has recorded it
	Kind         events.Kind                  `json:"kind"` // that of its event
	Seq          uint64                       `json:"seq"`  // the number of its event on the node
	Time         time.Time                    `json:"time"`
	Agent        performatives.AgentID        `json:"agent"`                     // whose code has failed; empty for a group of agents
	Peer         performatives.AgentID        `json:"peer,omitempty"`            // the agent on the other side
	Conversation performatives.ConversationID `json:"conversation_id,omitempty"` // empty for code outside of a conversation
	Protocol     string                       `json:"protocol,omitempty"`        // the codon
	Job          string                       `json:"job,omitempty"`             // empty for code that is no job
	After        float64                      `json:"after_seconds"`             // since the job began
	Directive    string                       `json:"directive,omitempty"`       // what the supervisor does, such as restart; empty for a job
	Reason       string                       `json:"reason"`                    // the text of the error, masked and of bounded length
	Stack        string                       `json:"stack,omitempty"`           // of a panic, of bounded length; empty after an error
}

// The longest text and the longest stack of a failure that are kept, in bytes.
const (
	maxReason = 2 << 10
	maxStack  = 8 << 10
)

// ShowFailure returns the failure of an event as the recorder shows it, whether it is recorded or
// not. It is false for any other event.
func (r *Recorder) ShowFailure(of events.Record) (f Failure, ok bool) {
	switch e := of.Event.(type) {
	case lifecycle.JobFailed:
		f = failureOf(of.Seq, &e)
	case events.Supervised:
		f = supervisionOf(of.Seq, &e)
	default:
		return f, false
	}
	return r.shown(f), true
}

func failureOf(seq uint64, e *lifecycle.JobFailed) Failure {
	return Failure{
		Kind: e.Kind(), Seq: seq, Time: e.Time, Agent: e.Agent, Peer: e.Peer, Conversation: e.Conversation, Protocol: e.Protocol, Job: e.Job,
		After: e.After.Seconds(), Reason: textOf(e.Err), Stack: shortened(string(e.Stack), maxStack),
	}
}

func supervisionOf(seq uint64, e *events.Supervised) Failure {
	return Failure{
		Kind: e.Kind(), Seq: seq, Time: e.Time, Agent: e.Agent, Conversation: e.Conversation, Reason: textOf(e.Reason), Stack: shortened(string(e.Stack), maxStack),
		Directive: strings.ToLower(strings.TrimSuffix(e.Directive.String(), "Directive")),
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return shortened(err.Error(), maxReason)
}

// Failures returns the failures that are kept, the latest first: those of an agent, if the id is
// not empty, and those in a conversation, if that is not empty. The caller owns the result.
func (r *Recorder) Failures(of performatives.AgentID, in performatives.ConversationID) []Failure {
	mu := r.lock()
	all := r.failures.latest()
	mu.Unlock()
	all = slices.DeleteFunc(all, func(f Failure) bool { return of != "" && !of.Is(f.Agent) || in != "" && in != f.Conversation })
	for i, f := range all {
		all[i] = r.shown(f)
	}
	return all
}

// shown completes a failure for its reader: the masking takes long.
func (r *Recorder) shown(f Failure) Failure {
	f.Node, f.Reason = r.name, r.mask.Text(f.Reason)
	return f
}

// ring keeps the latest values of a list.
type ring[T any] struct {
	all       []T
	next      int // the place of the next one, once the ring is full
	forgotten uint64
}

// add adds a value, in the place of the oldest one if there are as many as there may be.
func (l *ring[T]) add(one T, most int) {
	if len(l.all) < most {
		l.all = append(l.all, one)
		return
	}
	l.all[l.next] = one
	l.next = (l.next + 1) % len(l.all)
	l.forgotten++
}

// latest returns the values, the latest first; not nil.
func (l *ring[T]) latest() []T {
	all := append(append([]T{}, l.all[l.next:]...), l.all[:l.next]...)
	slices.Reverse(all)
	return all
}

// The kinds of a [Refusal].
const (
	KindRefused    = "refused"     // the sender was told
	KindDeadLetter = "dead_letter" // no reply was expected
)

// Refusal is a message that was refused, or a dead letter.
type Refusal struct {
	Node         string                       `json:"node"` // that has recorded it
	Seq          uint64                       `json:"seq"`  // the number of its event on the node
	Time         time.Time                    `json:"time"`
	Kind         string                       `json:"kind"` // KindRefused or KindDeadLetter
	Code         performatives.Code           `json:"code"`
	Text         string                       `json:"text"`          // of the agent that refused, masked and of bounded length, or that of the code
	From         performatives.AgentID        `json:"from"`          // the sender of the message; empty for a value that is no message
	To           performatives.AgentID        `json:"to"`            // the agent or actor that it was for; empty for a broadcast
	Act          string                       `json:"act,omitempty"` // the message type, or the performative without one
	Message      performatives.MessageID      `json:"message_id,omitempty"`
	Conversation performatives.ConversationID `json:"conversation_id,omitempty"`
}

// maxRefusalText is the longest text of a refusal that is kept, in bytes.
const maxRefusalText = 512

// Refusals returns the refusals and dead letters that are kept, the latest first. The caller owns
// the result.
func (r *Recorder) Refusals() []Refusal {
	mu := r.lock()
	all := r.refusals.latest()
	mu.Unlock()
	for i := range all {
		all[i].Node, all[i].Text = r.name, r.mask.Text(all[i].Text)
	}
	return all
}

// drops has the texts of the reasons for which a codon drops a message. They are no codes of
// refusals.
var drops = map[performatives.Code]string{
	machine.DropDuplicate:     "the message had come before, and had its effect then",
	machine.DropStale:         "the message belongs to an earlier round or conversation",
	machine.DropLate:          "the message came after the end of its conversation, or of that part of it",
	machine.DropUnexpected:    "the state of the conversation expects no such message",
	machine.DropUndeliverable: "a copy of a message could not be delivered, and the wait for the answer goes on",
}

// reasonOf returns the text of a code, or that of the reason of a codon; for a code of an agent's
// own, the code itself.
func reasonOf(code performatives.Code) string {
	if text := drops[code]; text != "" || code.Known() || code == "" {
		return cmp.Or(text, code.Traits().Text)
	}
	return string(code)
}

// refusedLocked keeps a refusal in the place of the oldest one, if there are as many as the options
// allow.
func (r *Recorder) refusedLocked(one Refusal, m *performatives.Message) {
	one.Text = shortened(cmp.Or(one.Text, reasonOf(one.Code)), maxRefusalText)
	if m != nil {
		one.From, one.Message, one.Conversation = m.Sender(), m.ID(), m.ConversationID()
		one.Act = cmp.Or(m.MessageType(), m.Performative().String())
	}
	r.refusals.add(one, r.options.Refusals)
}

func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…" // a copy: the whole text can be collected
}
