package route

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// link is a link to a node of that name.
type link struct {
	name  string
	ended bool
	leads []performatives.AgentID
}

func (l *link) Ended() bool    { return l.ended }
func (l *link) Gone() string   { return "the node " + l.name + " of the agent cannot be reached" }
func (l *link) String() string { return l.name }

func (l *link) Leads(id performatives.AgentID) bool { return slices.Contains(l.leads, id) }

// known is a [View] of one node with two others, n2 and n3. The fields are about the agent "to",
// but for those whose names say that they are about the sender.
type known struct {
	entry, sender   Entry
	heard, heardOf  Link // of to, of the sender
	host, hostAny   Host // with and without an excepted node
	mayHost         bool
	elsewhere       bool
	handed          bool
	handedTo        Link
	run             Run
	uplink          bool
	connected       bool // the uplink
	hasRun          bool
	unreachable     string
	exceptedForHost Link // set by Host
}

func of[T any](id performatives.AgentID, to, sender T) T {
	if id == "asker" {
		return sender
	}
	return to
}

func (k *known) Entry(id performatives.AgentID) Entry     { return of(id, k.entry, k.sender) }
func (k *known) Heard(id performatives.AgentID) Link      { return of(id, k.heard, k.heardOf) }
func (k *known) RunsElsewhere(performatives.AgentID) bool { return k.elsewhere }
func (k *known) HandedTo(performatives.AgentID) (Link, bool) {
	return k.handedTo, k.handed
}
func (k *known) Run(performatives.AgentID) Run            { return k.run }
func (k *known) Uplink() (there, connected bool)          { return k.uplink, k.connected }
func (k *known) HasRun(performatives.AgentID) bool        { return k.hasRun }
func (k *known) Unreachable(performatives.AgentID) string { return k.unreachable }
func (*known) Name() string                               { return "n1" }

func (k *known) Host(_ performatives.AgentID, except Link) Host {
	h := k.hostAny
	if except != nil {
		k.exceptedForHost, h = except, k.host
	}
	h.May = k.mayHost
	return h
}

// The nodes and agents of the rows.
var (
	n2, n3, gone = &link{name: "n2"}, &link{name: "n3"}, &link{name: "n4", ended: true}

	here       = Entry{Agent: new(actors.Registration)}
	there      = Entry{Agent: new(actors.Registration), Home: n2, Link: n2}
	moved      = Entry{Agent: new(actors.Registration), Home: n2, Link: n3} // it was heard since
	lost       = Entry{Agent: new(actors.Registration), Home: gone, Link: gone}
	placed     = Entry{Agent: new(actors.Registration), Home: n2, Link: n2, Placed: true}
	placedLost = Entry{Agent: new(actors.Registration), Home: gone, Link: gone, Placed: true}

	session = Entry{Agent: new(actors.Registration), Roams: true}

	hostHere  = Host{Placed: true, Here: true}
	hostN2    = Host{Placed: true, Link: n2}
	hostN3    = Host{Placed: true, Link: n3}
	hostGone  = Host{Placed: true, Link: gone}
	hostNone  = Host{Placed: true}
	fromThere = Entry{Agent: new(actors.Registration), Home: n2, Link: n2}
)

// kind is the kind of message of a row.
type kind uint8

const (
	request kind = iota
	answer
	cancel
	broadcast
	passedOn  // a request that another node has passed on
	passedOn3 // as often as it may be
	answerOn  // an answer that another node has passed on
)

func (k kind) message(t *testing.T) *performatives.Message {
	t.Helper()
	e := performatives.Envelope{
		ID: "m", Timestamp: time.Unix(1, 0), Performative: performatives.ActRequest, Sender: "asker", Receiver: "k/a", Payload: performatives.Raw(`{}`),
	}
	switch k {
	case answer, answerOn:
		e.Performative, e.InReplyTo = performatives.ActInform, "q"
	case cancel:
		e.Performative, e.Payload = performatives.ActCancel, performatives.Cancel{Reason: "no"}
		e.ConversationID = "c"
	case broadcast:
		e.Receiver = ""
	case request, passedOn, passedOn3:
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	switch k { //nolint:exhaustive // the others were not passed on
	case passedOn, answerOn:
		m = m.Forward()
	case passedOn3:
		m = m.Forward().Forward().Forward()
	}
	return m
}

// shown is a decision as the rows write it.
func shown(d Decision) string {
	text := [...]string{"refuse", "deliver", "send", "pass", "activate", "beyond", "broadcast", "wait"}[d.Do]
	if d.Link != nil {
		text += fmt.Sprint(" ", d.Link)
	}
	if d.First {
		text += " first"
	}
	if d.Do == Wait {
		text += " " + d.Limit.String()
	}
	if d.Do == Refuse {
		text += fmt.Sprintf(" %s %s", d.Why.Code, d.Why.Text)
	}
	if d.Learn {
		text += ", sender is there"
	}
	return strings.TrimSpace(text)
}

// row is one row of the table of decisions.
type row struct {
	name   string
	view   known
	m      kind
	waited time.Duration
	want   string
}

const unknownHere = `refuse agent_not_found there is no agent "k/a"`

// The messages of this node.
func TestDecideOwn(t *testing.T) {
	decideAll(t, nil, []row{
		{"a broadcast", known{}, broadcast, 0, "broadcast"},
		{"an agent of this node", known{entry: here, heard: n2, hostAny: hostN2}, request, 0, "deliver"},
		{"an agent of another node", known{entry: there}, request, 0, "send n2"},
		{"one that was heard elsewhere since", known{entry: moved}, request, 0, "send n3"},
		{"one whose node is being given up", known{entry: lost}, request, 0, "refuse agent_stopped the node n4 of the agent cannot be reached"},
		{"a placed one whose node is being given up", known{entry: placedLost}, request, 0, "wait 640ms"},
		{"the answer to a run that was lost", known{entry: placedLost}, answer, 0, "refuse agent_stopped the node n4 of the agent cannot be reached"},
		{"only heard", known{heard: n3}, request, 0, "send n3"},
		{"only heard, over a link that has ended", known{heard: gone}, request, 0, unknownHere},
		{"to be activated here", known{hostAny: hostHere}, request, 0, "activate"},
		{"to be activated here, and runs elsewhere", known{hostAny: hostHere, elsewhere: true}, request, 0, "wait 640ms"},
		{"to be activated here, and that node does not join", known{hostAny: hostHere, elsewhere: true}, request, longWait, "activate"},
		{"to be activated there", known{hostAny: hostN2}, request, 0, "send n2 first"},
		{"to be activated there, and has come back", known{hostAny: hostN2}, passedOn, 0, "pass n2"},
		{"to be activated at a node that has just gone", known{hostAny: hostGone}, request, 0, "wait 640ms"},
		{"no node hosts it", known{hostAny: hostNone}, request, 0, "refuse agent_stopped no node hosts the kind k"},
		{"an answer activates nobody", known{hostAny: hostHere}, answer, 0, unknownHere},
		{"nor does a CANCEL", known{hostAny: hostHere}, cancel, 0, unknownHere},
		{"a CANCEL follows its request", known{hostAny: hostN2, uplink: true}, cancel, 0, "send n2"},
		{"a CANCEL, and the node of its request has gone", known{hostAny: hostGone}, cancel, 0, unknownHere},
		{"beyond an uplink", known{uplink: true, connected: true, hasRun: true}, request, 0, "beyond"},
		{"beyond an uplink without a session", known{uplink: true}, request, 0, "beyond"},
		{"stopped here, and the uplink has no session", known{uplink: true, hasRun: true}, request, 0, "refuse agent_stopped"},
		{"placed before the uplink", known{uplink: true, connected: true, hostAny: hostN2}, request, 0, "send n2 first"},
		{"stopped", known{hasRun: true}, request, 0, "refuse agent_stopped"},
		{"its node cannot be reached", known{unreachable: "the node n9 of the agent cannot be reached"}, request, 0, "refuse agent_stopped the node n9 of the agent cannot be reached"},
		{"unknown", known{}, request, 0, unknownHere},
		{"unknown, and has come back", known{}, passedOn, 0, "wait 640ms"},
	})
}

// The messages of n2.
func TestDecideOther(t *testing.T) {
	from := func(k known) known {
		k.sender = fromThere
		return k
	}
	const unknownThere = `refuse agent_not_found there is no agent "k/a" on the node n1`
	decideAll(t, n2, []row{
		{"a broadcast", from(known{}), broadcast, 0, "broadcast"},
		{"an agent of this node", from(known{entry: here, heard: n3}), request, 0, "deliver"},
		{"to be activated here", from(known{host: hostHere, hostAny: hostHere}), request, 0, "activate"},
		{"to be activated here, and runs elsewhere", from(known{host: hostHere, hostAny: hostHere, elsewhere: true}), request, 0, "wait 640ms"},
		{"to be activated here, and that node does not join", from(known{host: hostHere, hostAny: hostHere, elsewhere: true}), request, longWait, "activate"},
		{"an answer activates nobody", from(known{host: hostHere, hostAny: hostHere}), answer, 0, unknownThere},
		{"beyond an uplink", from(known{uplink: true, connected: true}), request, 0, "beyond"},
		{"an agent of a third node", from(known{entry: Entry{Agent: here.Agent, Home: n3, Link: n3, Placed: true}, host: hostN3, hostAny: hostN3}), request, 0, "pass n3"},
		{"one that is not placed", from(known{entry: Entry{Agent: here.Agent, Home: n3, Link: n3}}), request, 0, `refuse agent_stopped the agent "k/a" is not on the node n1`},
		{"an answer to it, whose request this node has passed on", from(known{entry: Entry{Agent: here.Agent, Home: n3, Link: n3}}), answer, 0, "pass n3"},
		{"by the directory at its sender, where it is not", from(known{entry: there}), request, 0, `refuse agent_stopped the agent "k/a" is not on the node n1`},
		{"placed, and by the directory at its sender, which has handed it to n3", from(known{entry: placed, handed: true, handedTo: n3, hostAny: hostNone}), request, 0, "pass n3"},
		{"handed to the sender", from(known{handed: true, handedTo: n2, hostAny: hostNone, host: hostNone}), request, 0, "wait 640ms"},
		{"only heard, at n3", from(known{heard: n3}), answer, 0, "pass n3"},
		{"only heard, at its sender", from(known{heard: n2}), answer, 0, unknownThere},
		{"to be activated at n3", from(known{host: hostN3, hostAny: hostN3}), request, 0, "pass n3"},
		{"to be activated at n3, passed on too often", from(known{host: hostN3, hostAny: hostN3, sender: fromThere}), passedOn3, 0, "wait 640ms"},
		{"the same after a while", from(known{host: hostN3, hostAny: hostN3}), passedOn3, 10 * time.Millisecond, "pass n3"},
		{"passed on too often, and this node may host it", from(known{host: hostN3, hostAny: hostN3, mayHost: true}), passedOn3, 0, "activate"},
		{"only its sender hosts it, and took this node for a host", from(known{host: hostNone, hostAny: hostN2}), request, 0, "pass n2"},
		{"no node hosts it", from(known{host: hostNone, hostAny: hostNone}), request, 0, "wait 640ms"},
		{"at a node that is being given up", from(known{host: hostGone, hostAny: hostGone}), request, 0, "wait 640ms"},
		{"an answer for a node that is being given up", from(known{heard: gone}), answer, 0, "refuse agent_stopped the node n4 of the agent cannot be reached"},
		{"stopped", from(known{hasRun: true}), request, 0, "refuse agent_stopped"},
		{"unknown", from(known{}), request, 0, unknownThere},
	})
}

// What a message of n2 says of its sender.
func TestDecideSender(t *testing.T) {
	decideAll(t, n2, []row{
		{"known there", known{entry: here, sender: fromThere}, request, 0, "deliver"},
		{"unknown", known{entry: here}, request, 0, "deliver, sender is there"},
		{"an unknown one that answers", known{entry: here}, answer, 0, "deliver, sender is there"},
		{"known at n3, and asks", known{entry: here, sender: Entry{Agent: here.Agent, Home: n3, Link: n3}}, request, 0, "deliver, sender is there"},
		{"known at n3, and answers", known{entry: here, sender: Entry{Agent: here.Agent, Home: n3, Link: n3}}, answer, 0, "deliver"},
		{"it runs here", known{entry: here, sender: here}, request, 0, `refuse forbidden an agent "asker" runs on the node n1, too`},
		{"a session here has it, and asks", known{entry: here, sender: session}, request, 0, "wait 640ms"},
		{"a session here has it, and answers", known{entry: here, sender: session}, answer, 0, "wait 640ms"},
		{"passed on, and unknown", known{entry: here}, passedOn, 0, "wait 2.56s"},
		{"passed on, and unknown for too long", known{entry: here}, passedOn, strangerWait, "deliver, sender is there"},
		{"passed on, and heard", known{entry: here, heardOf: n3}, passedOn, 0, "deliver"},
		{"passed on, and an answer", known{entry: here}, answerOn, 0, "deliver"},
	})
	// An earlier run that n2 has handed over, and the next one, of which it has yet to tell.
	for name, c := range map[string]struct {
		activation uint64
		run        Run
		want       string
	}{
		"an earlier run":                 {1, Run{Number: 2}, "deliver"},
		"the next run, which was taken":  {3, Run{Number: 2, Leaves: true}, "deliver"},
		"the next run, which it has not": {3, Run{Number: 2}, `refuse forbidden an agent "asker" runs on the node n1, too`},
		"the same run":                   {2, Run{Number: 2, Leaves: true}, `refuse forbidden an agent "asker" runs on the node n1, too`},
	} {
		m := answer.message(t)
		m.Activate(c.activation)
		if got := shown(Decide(&known{sender: here, run: c.run}, here, m, n2, 0)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What a node sends that is lost is too late, unless it has passed it on.
func TestDecideOfANodeThatHasGone(t *testing.T) {
	decideAll(t, gone, []row{
		{"its own", known{entry: here, sender: fromThere}, request, 0, "refuse agent_stopped the node of the sender has gone"},
		{"an answer that it has passed on", known{entry: here}, answerOn, 0, "deliver"},
		{"a request that it has passed on, of a known sender", known{entry: here, sender: fromThere}, passedOn, 0, "deliver"},
		{"a request that it has passed on, of an unknown sender", known{entry: here}, passedOn, 0, "wait 2.56s"},
		{"the same for too long", known{entry: here}, passedOn, strangerWait, "refuse agent_stopped the node of the sender has gone"},
	})
}

func decideAll(t *testing.T, from Link, rows []row) {
	t.Helper()
	for _, r := range rows {
		d := Decide(&r.view, r.view.entry, r.m.message(t), from, r.waited)
		if got := shown(d); got != r.want {
			t.Errorf("%s: %s, want %s", r.name, got, r.want)
		}
		if l, ok := from.(*link); ok && r.view.sender.Home == l && r.view.sender.Link == l { // then the sender needs no look in the directory
			view := r.view
			l.leads, view.sender = []performatives.AgentID{"asker"}, here
			if got := shown(Decide(&view, view.entry, r.m.message(t), l, r.waited)); got != r.want && r.m != passedOn {
				t.Errorf("%s, of a sender to which the link leads: %s, want %s", r.name, got, r.want)
			}
			l.leads = nil
		}
		if d.Do == Deliver && d.Entry.Agent == nil {
			t.Errorf("%s: nobody to deliver to", r.name)
		}
		if e := r.view.exceptedForHost; e != nil && e != from {
			t.Errorf("%s: all hosts but %v", r.name, e)
		}
	}
}
