package codons

import (
	"fmt"
	goruntime "runtime"
	"testing"
	"time"
	"weak"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestTombstoneKeepsNoConversation checks that the handler and the other messages of an ended
// conversation are freed.
func TestTombstoneKeepsNoConversation(t *testing.T) {
	for _, role := range machine.Roles() {
		c := new(Conversation)
		c.set(errand, role, "a", actors.Key{ID: "c"}, aRequest(t), nil, time.Now())
		c.at.State = standard.StateFailed
		c.seen = append(c.seen, "m")
		c.request = aRequest(t)
		c.sent = append(c.sent, sentMessage{Message: aRequest(t), copies: 1})
		conversation, request := weak.Make(c), weak.Make(c.request)
		left := c.tombstone()
		c = nil
		goruntime.GC()
		if conversation.Value() != nil || request.Value() != nil {
			t.Errorf("%s: the conversation or its request is still there", role)
		}
		goruntime.KeepAlive(left)
	}
}

// TestOpeningIsRecognised checks that a conversation recognises the message that opened it, however
// many it has received since.
func TestOpeningIsRecognised(t *testing.T) {
	first := aRequest(t)
	v := new(Value)
	v.set(errand, machine.Responder, "b", actors.Key{ID: "m"}, first, nil, time.Now())
	if on := v.classify(first, ""); on != machine.Receive(p.ActTaskRequest) {
		t.Errorf("the first time it is %s", on)
	}
	v.at.State = "cancelling"
	if on := v.classify(first, ""); on != machine.Duplicate(p.ActTaskRequest) {
		t.Errorf("the second time it is %s", on)
	}
}

func aRequest(t *testing.T) *p.Message {
	t.Helper()
	m, err := p.New(p.Envelope{
		ID: "m", Sender: "a", Receiver: "b", Timestamp: p.Stamp{}.Time.AddDate(2000, 0, 0),
		Payload: p.TaskRequest{TaskType: "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestOpeningThatComesLateOpensNothing has the opening act arrive after the end, because later
// messages have overtaken it.
func TestOpeningThatComesLateOpensNothing(t *testing.T) {
	m, err := aRequest(t).With(func(e *p.Envelope) { e.Performative, e.Payload = p.ActRequest, nil })
	if err != nil {
		t.Fatal(err)
	}
	left := &tombstone{codon: errand, role: machine.Responder, id: hashOf(m.ID())}
	if left.reopenedBy(m) {
		t.Error("the conversation begins again")
	}
	left.id = hashOf("another")
	if !left.reopenedBy(m) {
		t.Error("another request opens no conversation of that id")
	}
}

// TestReopeningByMessageType has requests of several types come under the id of an ended
// conversation: only those that the responder takes first open another one, and of these not the
// one that the conversation began without.
func TestReopeningByMessageType(t *testing.T) {
	request, done := p.ActRequest, machine.SendTagged(p.ActInform, "DONE")
	says := Says[struct{}](request)
	c := MustDefine(Definition{
		Messages: Messages{"ORDER": says, "WITHDRAWAL": says, "PAYMENT": says, "DONE": Says[struct{}](p.ActInform)},
		Table: machine.Table{
			Name: "sale", Title: "Sale", Purpose: "A buyer orders.", Source: "the tests", Terminal: []machine.State{"done"},
			Rows: []machine.Row{
				machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto("asked", machine.SendTagged(request, "ORDER")).Because("a buyer"),
				machine.Asks("asked").When(machine.Commanded("withdraw")).Goto("left", machine.SendTagged(request, "WITHDRAWAL")).Because("it is not wanted"),
				machine.Asks("asked").When(machine.Commanded("pay")).Goto("left", machine.SendTagged(request, "PAYMENT")).Because("it is wanted"),
				machine.Asks("asked", "left").When(machine.ReceiveTagged(p.ActInform, "DONE")).Goto("done").Because("an answer"),
				machine.Answers(machine.Idle).When(machine.ReceiveTagged(request, "ORDER")).Goto("taken").Because("a buyer"),
				machine.Answers(machine.Idle, "taken").When(machine.ReceiveTagged(request, "WITHDRAWAL")).Goto("done", done).Because("it is not wanted"),
				machine.Answers("taken").When(machine.ReceiveTagged(request, "PAYMENT")).Goto("done", done).Because("it is wanted"),
			},
		},
	})
	message := func(id p.MessageID, kind, inReplyTo string) *p.Message {
		m, err := p.New(p.Envelope{
			ID: id, Sender: "a", Receiver: "b", Timestamp: p.Stamp{}.Time.AddDate(2000, 0, 0), ConversationID: "c", Performative: request,
			Protocol: c.Name(), MessageType: kind, InReplyTo: inReplyTo, Payload: struct{}{},
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := message("2", "WITHDRAWAL", "1")
	v := new(Value)
	v.set(c, machine.Responder, "b", actors.Key{ID: "c"}, first, nil, time.Now())
	v.at.State, v.request = "done", first
	left := v.tombstone()
	for _, r := range []struct {
		m    *p.Message
		want bool
	}{
		{message("1", "ORDER", ""), false},
		{message("3", "ORDER", ""), true},
		{message("4", "PAYMENT", "3"), false},
	} {
		if got := left.reopenedBy(r.m); got != r.want {
			t.Errorf("%s %s: got %t, want %t", r.m.MessageType(), r.m.ID(), got, r.want)
		}
	}
	if c.OpenedBy(message("4", "PAYMENT", "3"), false) || !c.OpenedBy(first, false) {
		t.Error("want the types that have a row in idle, and no others")
	}
}

// TestRequestIsRecognisedAfterManyMessages repeats the request that a side has to answer after the
// ids of more messages than it keeps.
func TestRequestIsRecognisedAfterManyMessages(t *testing.T) {
	m := aRequest(t)
	v := new(Value)
	v.set(errand, machine.Responder, "b", actors.Key{ID: "c"}, m, nil, time.Now())
	v.request, v.first = m, nil
	for i := range 2 * maxRemembered {
		v.seen = appendBounded(v.seen, p.MessageID(fmt.Sprint("other ", i)))
	}
	if !v.saw(m) {
		t.Error("the request counts as a new one")
	}
	v.cancel, v.request = m, nil
	if !v.saw(m) {
		t.Error("the CANCEL counts as a new one")
	}
}

// TestDisarmedDeadlineIsNotListed disarms the deadline, also by a timer that never runs.
func TestDisarmedDeadlineIsNotListed(t *testing.T) {
	v := new(Value)
	v.set(errand, machine.Initiator, "a", actors.Key{ID: "c"}, aRequest(t), timing{after: time.Minute}, time.Now())
	arm, e := machine.Arm(machine.TimerDeadline), &Input{At: time.Now()}
	for _, disarm := range []func(){
		func() { v.side = timing{after: Never}; v.compose(arm, e, nil) },
		func() { v.compose(machine.Disarm(machine.TimerDeadline), e, nil) },
	} {
		v.side = timing{after: time.Minute}
		if v.compose(arm, e, nil); !v.deadline.Equal(e.At.Add(time.Minute)) {
			t.Errorf("the deadline is %v", v.deadline)
		}
		if disarm(); !v.deadline.IsZero() {
			t.Errorf("the deadline is still %v", v.deadline)
		}
	}
}

// timing is a side whose timers run for that time.
type timing struct {
	Side
	after time.Duration
}

func (t timing) Timer(*Value, string, time.Time) time.Duration { return t.after }

// limited is an agent with a limit of its own.
type limited struct{}

func (limited) Describe() p.Capabilities { return p.Capabilities{} }
func (limited) MaxTasks() int            { return 2 }

// unlimited is one without.
type unlimited struct{}

func (unlimited) Describe() p.Capabilities { return p.Capabilities{} }

// URGENT and HIGH requests have some room beyond the default limit. A limit that an agent declares
// holds for all.
func TestRoomForUrgentRequests(t *testing.T) {
	for _, c := range []struct {
		agent           actors.Agent
		limit, reserved int
	}{{unlimited{}, DefaultMaxTasks, 64}, {limited{}, 2, 0}} {
		l := newLimiter(c.agent)
		for i := range c.limit {
			if l.take(p.Normal) == nil {
				t.Fatalf("%T: slot %d of %d is not given", c.agent, i, c.limit)
			}
		}
		if l.take(p.Normal) != nil || l.take(p.Low) != nil {
			t.Errorf("%T: more than %d NORMAL or LOW requests", c.agent, c.limit)
		}
		for i := range c.reserved {
			if l.take(p.High+p.Priority(i%2)) == nil {
				t.Fatalf("%T: request %d of HIGH or URGENT priority is refused", c.agent, i)
			}
		}
		if l.take(p.Urgent) != nil {
			t.Errorf("%T: more than %d requests of HIGH and URGENT priority", c.agent, c.reserved)
		}
	}
}

// TestSlotIsReleasedOnce releases a slot twice.
func TestSlotIsReleasedOnce(t *testing.T) {
	l := limiter{limit: 1}
	held := l.take(p.Normal)
	held.release()
	held.release()
	if l.take(p.Normal) == nil || l.take(p.Normal) != nil {
		t.Error("there are not as many slots as the limit")
	}
}
