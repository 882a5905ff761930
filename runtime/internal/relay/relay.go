package relay

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Relay passes on the messages of a node that come from other processes or go there, and keeps the
// records of the requests among them. It is safe for concurrent use.
type Relay struct {
	system    *actors.System
	beyond    func(performatives.AgentID) *Link
	activates func(*performatives.Message) bool
	tables    map[string]table                   // by the name of the codon
	say       func(last []ending, stopping bool) // sendLast
	aliased   atomic.Bool                        // a worker was asked under another name
	records   atomic.Int64                       // how many are open or remembered; changes with mu

	mu         sync.Mutex
	index      map[recordKey]*record
	of         map[any]*recordList // the records by *Link, or by the folded id of an agent of this process; tombstones are not in it
	due        dueHeap
	tombstones list.List // of *record, the oldest first
	wake       time.Time // for which the timer is set; zero: it is not
	stopTimer  func() bool
	closed     bool
}

// table is a codon and the beginning of its conversations.
type table struct {
	codon   *codons.Codon
	machine *machine.Machine
	begin   *machine.Progress
}

// New returns the relay of a node, whose requests end by the tables of the codons. beyond returns
// the link behind which an agent is that is not in the directory, or nil. activates reports whether
// a message for an agent that is nowhere has it activated in this process.
func New(
	s *actors.System, all []*codons.Codon, beyond func(performatives.AgentID) *Link, activates func(*performatives.Message) bool,
) *Relay {
	r := &Relay{
		system: s, beyond: beyond, activates: activates,
		tables: make(map[string]table), index: make(map[recordKey]*record), of: make(map[any]*recordList),
	}
	r.say = r.sendLast
	for _, c := range all {
		if m := c.Machine(); m != nil {
			r.tables[c.Name()] = table{c, m, machine.NewProgress(m)}
		}
	}
	return r
}

// LinkOf returns the link behind which an agent is at present. It is nil for one of this process,
// and for none.
func (r *Relay) LinkOf(id performatives.AgentID) *Link {
	via, _ := r.whereIs(id)
	return via
}

// whereIs is LinkOf with the entry of an agent of this process.
func (r *Relay) whereIs(id performatives.AgentID) (via *Link, here *actors.Registration) {
	a, d := r.find(id)
	switch {
	case d != nil:
		return d.Via(), nil
	case a == nil:
		return r.beyond(id), nil
	}
	return nil, a
}

// find looks an agent up in the directory. a is nil for one that is not there, and d for one of
// this process.
func (r *Relay) find(id performatives.AgentID) (a *actors.Registration, d Destination) {
	if a, _ = r.system.Find(id); a != nil {
		d, _ = a.Destination().(Destination)
	}
	return a, d
}

// partyOf returns the agent with that id at its present destination.
func (r *Relay) partyOf(id performatives.AgentID) party { return party{id, r.LinkOf(id)} }

// pass notes a message in the records and passes it on with the function on. The reply of a worker
// that the asker has called by a namespace is sent under the namespace's name. unsent is the error
// of on. err is the one for the sender: nil if the conversation was ended meanwhile, because its
// parties were told so.
func (r *Relay) pass(p passage, on func(*performatives.Message) error) (unsent, err error) {
	t, before, err := r.note(p, time.Now)
	if err != nil {
		return nil, err
	}
	m := p.message
	if t != nil && t.as != "" && p.as == "" && !m.Sender().Is(t.asker.id) {
		m = t.voiced(m)
	}
	if unsent = on(m); unsent != nil && t != nil && r.takeBack(t, before, p.message, wire.AsRefusal(unsent).Code) {
		return unsent, nil
	}
	return unsent, unsent
}

// Onward routes a message of an agent of this process that has passed the chain: to the agent to,
// or to its receiver if to is empty. A routed request, its later messages and their replies pass
// the records. The records know the worker by both of its names.
func (r *Relay) Onward(m *performatives.Message, to performatives.AgentID) error {
	as, worker := m.Receiver(), r.WorkerOf(m.Sender(), m, to)
	switch {
	case worker != "":
		p := passage{message: m.Readdressed(m.Sender(), worker), from: r.partyOf(m.Sender()), to: r.partyOf(worker), as: as}
		_, err := r.pass(p, r.system.Route)
		return refusedBy(as, err)
	case r.aliased.Load() && m.Receiver() != "":
		if to := r.partyOf(m.Receiver()); to.via == nil && r.voiced(m) { // else the link renames it
			here, _ := r.system.Find(m.Sender())
			_, err := r.pass(passage{message: m, from: party{id: m.Sender()}, to: to, here: here}, r.system.Route)
			return err
		}
	}
	return r.system.Route(m)
}

// refusedBy returns an error as a refusal by the agent or namespace that the asker has named.
func refusedBy(named performatives.AgentID, err error) error {
	if err == nil {
		return nil
	}
	r := *wire.AsRefusal(err)
	r.From = named
	return &r
}

// WorkerOf returns the agent that an earlier message of the conversation went to in place of its
// receiver, a namespace or an agent. Without one it returns to, which the chain has routed m to.
func (r *Relay) WorkerOf(asker performatives.AgentID, m *performatives.Message, to performatives.AgentID) performatives.AgentID {
	if !r.aliased.Load() {
		return to
	}
	t, open := r.recordOf(m, party{id: asker}, party{id: m.Receiver()})
	if !open || t.as == "" || !t.as.Is(m.Receiver()) {
		return to
	}
	return t.worker.id
}

// Refuse counts a message of another process that is not routed. It returns the reason as a
// refusal.
func (r *Relay) Refuse(m *performatives.Message, why error) error {
	refusal := wire.AsRefusal(why)
	r.system.RecordRefusal(m, refusal)
	return refusal
}
