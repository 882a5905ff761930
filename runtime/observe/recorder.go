package observe

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Counts says how much a [Recorder] has kept and lost.
type Counts struct {
	Conversations int    `json:"conversations"`           // those that are kept
	Bytes         int    `json:"bytes"`                   // the estimated memory of the kept conversations
	Lost          uint64 `json:"events_lost"`             // events that found the queue full
	Forgotten     uint64 `json:"conversations_forgotten"` // conversations that the bounds pushed out

	Refusals          int    `json:"refusals"`            // refusals and dead letters that are kept
	RefusalsForgotten uint64 `json:"refusals_forgotten"`  // those that the bound pushed out
	Duplicates        uint64 `json:"duplicates"`          // dead letters that had their effect when they came first
	Failures          int    `json:"failures"`            // failures of agents that are kept
	FailuresForgotten uint64 `json:"failures_forgotten"`  // those that the bound pushed out
	Uncounted         uint64 `json:"incidents_uncounted"` // incidents of agents beyond the bound, which have no counts of their own
}

// liveSides finds the sides of conversations that are under way on a node.
type liveSides struct {
	all      func() []codons.Info
	with     func(performatives.ConversationID) []codons.Info                  // those with an id
	children func(performatives.ConversationID) []performatives.ConversationID // see [codons.Children]
}

// Recorder keeps the last conversations of a node. Its owner must call Close.
type Recorder struct {
	name    string // of the node
	options Options
	mask    Mask
	node    liveSides
	health  func(performatives.AgentID) (runtime.Health, bool) // without counts

	listener // its lock guards the following fields

	recent entries
	mark   Mark   // of the last change
	free   *entry // a forgotten one, whose memory the next conversation uses
	counts Counts
	rates  rates

	lost     []LostNode // the latest last
	acts     ring[keptAct]
	refusals ring[Refusal]
	failures ring[Failure]
	vitals   health
}

// New records the events of the node that are published from now on. The error names the option
// that is wrong.
func New(node *runtime.Node, o Options) (*Recorder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	children := func(of performatives.ConversationID) []performatives.ConversationID {
		return codons.Children(node.System(), of)
	}
	r := &Recorder{
		name: node.Name(), mark: Mark{Run: time.Now().UnixNano()}, options: o, mask: NewMask(o.Mask), node: liveSides{node.Conversations, node.Conversation, children}, health: node.Health,
		recent: newEntries(), rates: rates{first: numberOf(time.Now())}, vitals: newHealth(),
	}
	r.listen(node, o.Queue, events.On(r.endedLocked), events.On(r.messageSentLocked), events.On(r.messageReceivedLocked),
		events.On(r.messageRefusedLocked), events.On(r.deadLetterLocked), events.On(r.jobFailedLocked),
		events.On(r.supervisedLocked), events.On(r.vitals.started), events.On(r.vitals.stopped),
		events.On(r.memberLostLocked), events.On(r.memberJoinedLocked), events.On(r.memberLinkedLocked), events.On(r.operatorActedLocked))
	return r, nil
}

// Close ends the recording. It returns when the events that are queued are recorded. Closing again
// does nothing.
func (r *Recorder) Close() { r.end() }

// Counts returns how much the recorder has kept and lost.
func (r *Recorder) Counts() Counts {
	defer r.lock().Unlock()
	c := r.counts
	c.Conversations, c.Lost, c.Refusals = len(r.recent.by), r.events.Lost(), len(r.refusals.all)
	c.RefusalsForgotten, c.Failures, c.FailuresForgotten = r.refusals.forgotten, len(r.failures.all), r.failures.forgotten
	return c
}

func (r *Recorder) messageSentLocked(_ uint64, ev *events.MessageSent) {
	r.rates.at(ev.Time).Messages++
	r.vitals.sent(ev)
	if m := r.messageLocked(ev.Time, ev.Message); m != nil {
		m.sent, m.changed = m.sent+1, r.mark.Seq
	}
	r.boundLocked()
}

func (r *Recorder) messageReceivedLocked(_ uint64, ev *events.MessageReceived) {
	m := r.messageLocked(ev.Time, ev.Message)
	r.vitals.taken(ev)
	if m.sent == 0 { // else its request is known
		r.vitals.ask(ev.Message, ev.Time)
	}
	m.received, m.changed = m.received+1, r.mark.Seq
	r.boundLocked()
}

func (r *Recorder) messageRefusedLocked(seq uint64, ev *events.MessageRefused) {
	r.rates.at(ev.Time).Refused++
	why := ev.Refusal
	if why == nil {
		why = &performatives.Refusal{Code: performatives.CodeUnspecified}
	}
	if m := r.messageLocked(ev.Time, ev.Message); m != nil {
		m.refuse(why.Code, r.mark.Seq)
		r.refusedLocked(Refusal{Seq: seq, Time: ev.Time, Kind: KindRefused, Code: why.Code, Text: why.Text, To: ev.Message.Receiver()}, ev.Message)
	}
	r.boundLocked()
}

func (r *Recorder) deadLetterLocked(seq uint64, ev *events.DeadLetter) {
	if ev.Code == machine.DropDuplicate { // it is expected: an initiator that waits long for an answer asks again
		r.counts.Duplicates++
	} else {
		r.rates.at(ev.Time).DeadLetters++
	}
	of, _ := ev.Message.(*performatives.Message)
	if m := r.messageLocked(ev.Time, of); m != nil {
		m.refuse(ev.Code, r.mark.Seq)
	}
	r.refusedLocked(Refusal{Seq: seq, Time: ev.Time, Kind: KindDeadLetter, Code: ev.Code, To: performatives.AgentID(ev.To)}, of)
	r.boundLocked()
}

func (r *Recorder) jobFailedLocked(seq uint64, ev *lifecycle.JobFailed) {
	r.failures.add(failureOf(seq, ev), r.options.Failures)
	r.incidentsLocked(ev.Agent).Errors++
	r.rates.at(ev.Time).Errors++
}

func (r *Recorder) supervisedLocked(seq uint64, ev *events.Supervised) {
	r.failures.add(supervisionOf(seq, ev), r.options.Failures)
	if ev.Directive == actor.RestartDirective && ev.Agent != "" {
		r.incidentsLocked(ev.Agent).Restarts++
	}
}

// messageLocked returns the record of a message, and adds the record if the message is new. It
// returns nil if m is nil.
func (r *Recorder) messageLocked(at time.Time, m *performatives.Message) *kept {
	if m == nil {
		return nil
	}
	e := r.entryLocked(at, m.ConversationID())
	for i := len(e.messages) - 1; i >= 0; i-- {
		if known := &e.messages[i]; known.is(m) {
			return known
		}
	}
	if e.protocol == "" {
		e.protocol = m.Protocol()
	}
	k := e.add(r.keep(at, m))
	if k.source == nil {
		e.learnParentOfLocked(m)
	}
	r.growLocked(e, k.bytes)
	if len(e.messages) > r.options.Messages {
		r.forgetMessageLocked(e)
	}
	return k
}

// endedLocked records a side that has ended. While a side is under way, its state, path and parent
// are read from the node.
func (r *Recorder) endedLocked(_ uint64, ev *lifecycle.Ended) {
	r.rates.at(ev.Time).end(ev.State)
	if !ev.Began.Before(r.vitals.since) {
		r.rates.at(ev.Began).Begun++
	}
	e := r.entryLocked(ev.Time, ev.Conversation)
	e.protocol = ev.Protocol
	if ev.Began.Before(e.began) { // its first events were lost, forgotten, or before the recorder
		e.began = ev.Began
	}
	if ev.Parent != "" {
		e.parent = ev.Parent
	}
	ends := len(e.ends)
	s := e.endOf(ev.Subject)
	r.growLocked(e, (len(e.ends)-ends)*sideBytes+(len(ev.Path)-len(s.path))*stateBytes)
	s.state, s.began, s.ended, s.path = ev.State, instantOf(ev.Began), instantOf(ev.Time), ev.Path
	r.boundLocked()
}

// listener takes the events of a node in batches, under a lock that it shares with the readers of
// the results.
type listener struct {
	events *events.Batches
	closed chan struct{} // closed by end
	close  sync.Once
	done   chan struct{} // closed when the goroutine has ended

	mu sync.Mutex
}

// listen begins to take the events that are published from now on, of which so many may wait. The
// functions of the columns are called under the lock.
func (l *listener) listen(node *runtime.Node, queue int, columns ...events.Column) {
	l.closed, l.done = make(chan struct{}), make(chan struct{})
	l.events = node.Events().SubscribeBatches(queue, columns...)
	go l.run()
}

// end ends the subscription, and returns when all queued events have been taken. Calling it again
// does nothing.
func (l *listener) end() {
	l.close.Do(func() {
		l.events.Close()
		close(l.closed)
	})
	<-l.done
}

func (l *listener) run() {
	defer close(l.done)
	for open := true; open; {
		select {
		case <-l.events.Ready:
		case <-l.closed:
			open = false
		}
		l.lock().Unlock()
	}
}

// lock takes the lock, and all events that have been published.
func (l *listener) lock() *sync.Mutex {
	l.mu.Lock()
	l.events.Handle()
	return &l.mu
}

// LostNode is another node of the cluster that is lost, and has not come back.
type LostNode struct {
	Node   string
	Time   time.Time // when this node lost it
	Reason string    // left, failed or unreachable: see [runtime.MemberLost]
}

// maxLostNodes is how many lost nodes are kept: the last ones.
const maxLostNodes = 100

// LostNodes returns the nodes that are lost and have not come back, the latest first. The caller
// owns the result.
func (r *Recorder) LostNodes() []LostNode {
	defer r.lock().Unlock()
	all := slices.Clone(r.lost)
	slices.Reverse(all)
	return all
}

func (r *Recorder) memberLostLocked(_ uint64, ev *runtime.MemberLost) {
	r.backLocked(ev.Node)
	r.lost = append(r.lost, LostNode{ev.Node, ev.Time, ev.Reason})
	r.lost = r.lost[max(0, len(r.lost)-maxLostNodes):]
}

func (r *Recorder) memberJoinedLocked(_ uint64, ev *runtime.MemberJoined) { r.backLocked(ev.Node) }
func (r *Recorder) memberLinkedLocked(_ uint64, ev *runtime.MemberLinked) { r.backLocked(ev.Node) }

// backLocked forgets that a node was lost.
func (r *Recorder) backLocked(node string) {
	r.lost = slices.DeleteFunc(r.lost, func(l LostNode) bool { return l.Node == node })
}

// lossLocked returns the text of the failure by which a conversation has ended because its
// responder was lost; empty if its last message is none.
func (e *entry) lossLocked(mask Mask) string {
	if len(e.messages) == 0 {
		return ""
	}
	m := e.messages[len(e.messages)-1].source
	if m == nil || m.Performative() != performatives.ActFailure {
		return ""
	}
	why := m.AsRefusal()
	if why == nil || why.Code != performatives.CodeDisconnected {
		return ""
	}
	return mask.Text(shortened(cmp.Or(why.Text, why.Code.Traits().Text), maxRefusalText))
}
