package observe

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// newEndRecorder returns a recorder of ends alone, and what it listens to. Its node lists the sides
// that live returns.
func newEndRecorder(live func(*events.Stream) []codons.Info) (*Recorder, *events.Stream) {
	stream := new(events.Stream)
	r := &Recorder{vitals: newHealth(), recent: newEntries(), options: Options{Conversations: 10, Bytes: 1 << 20}}
	r.rates.first = numberOf(time.Now())
	r.events = stream.SubscribeBatches(16, events.On(r.endedLocked))
	r.node = liveSides{
		all:  func() []codons.Info { return live(stream) },
		with: func(performatives.ConversationID) []codons.Info { return live(stream) },
	}
	return r, stream
}

// A side that ends while a view is made has ended in that view.
func TestEndsDuringAView(t *testing.T) {
	began := time.Now()
	end := lifecycle.Ended{
		At: events.At{Time: began.Add(time.Second)}, Subject: &lifecycle.Subject{Conversation: "c", Agent: "a", Peer: "b"},
		State: "done", Began: began, Path: []machine.State{"idle", "working", "done"},
	}
	side := codons.Info{ID: "c", Agent: "a", Peer: "b", State: "working", Began: began, Since: began}
	for name, live := range map[string]func(*events.Stream) []codons.Info{
		"before the node lists it": func(stream *events.Stream) []codons.Info {
			stream.Publish(end)
			return nil
		},
		"after the node has listed it": func(stream *events.Stream) []codons.Info {
			defer stream.Publish(end)
			return []codons.Info{side}
		},
	} {
		r, _ := newEndRecorder(live)
		one, found := r.Conversation("c")
		if !found {
			t.Errorf("%s: there is no such conversation", name)
		}
		r, _ = newEndRecorder(live)
		for _, c := range append(r.Conversations(), one) {
			if len(c.Sides) != 1 || !c.Sides[0].Ended || c.Sides[0].State != "done" || c.Live {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

// A side that begins after the node has listed its sides is in the view of its conversation.
func TestBeginsDuringAView(t *testing.T) {
	began, lists := time.Now().Add(time.Hour), 0 // after any view
	r, _ := newEndRecorder(func(*events.Stream) []codons.Info {
		if lists++; lists == 1 {
			return nil
		}
		return []codons.Info{{ID: "c", Agent: "a", Peer: "b", State: "working", Began: began, Since: began}}
	})
	r.entryLocked(began, "c") // by its first message
	if c, _ := r.Conversation("c"); len(c.Sides) != 1 || !c.Live {
		t.Errorf("%+v", c)
	}
	lists = 0
	if all := r.Conversations(); len(all) > 0 {
		t.Errorf("it is listed, and the list of its sides is older: %+v", all)
	}
}

// A side whose end is published only after the recorder has taken the events is in the view of its
// conversation as the node listed it.
func TestEndsAfterTheEventsOfAView(t *testing.T) {
	began, lists := time.Now(), 0
	r, _ := newEndRecorder(func(stream *events.Stream) []codons.Info {
		if lists++; lists == 1 {
			return []codons.Info{{ID: "c", Agent: "a", Peer: "b", State: "working", Began: began, Since: began}}
		}
		stream.Publish(lifecycle.Ended{At: events.At{Time: began}, Subject: &lifecycle.Subject{Conversation: "c", Agent: "a", Peer: "b"}, State: "done", Began: began})
		return nil
	})
	r.entryLocked(began, "c") // by its first message
	if c, _ := r.Conversation("c"); len(c.Sides) != 1 || !c.Live || c.Sides[0].State != "working" {
		t.Errorf("%+v", c)
	}
}

// A conversation whose record begins with its end began when the side began.
func TestBeganOfAnEnd(t *testing.T) {
	r, stream := newEndRecorder(func(*events.Stream) []codons.Info { return nil })
	stream.Publish(lifecycle.Ended{At: events.At{Time: time.Unix(3600, 0)}, Subject: &lifecycle.Subject{Conversation: "c", Agent: "a"}, State: "done", Began: time.Unix(1, 0)})
	if c, _ := r.Conversation("c"); !c.Began.Equal(time.Unix(1, 0)) {
		t.Errorf("it began at %v", c.Began)
	}
}

// The view of one conversation asks the node for the sides and the children of that one, whatever
// else is under way.
func TestViewOfOne(t *testing.T) {
	r, stream := newEndRecorder(func(*events.Stream) []codons.Info {
		t.Error("all sides are listed")
		return nil
	})
	began := time.Now()
	r.node.with = func(id performatives.ConversationID) []codons.Info {
		return []codons.Info{{ID: id, Agent: "a", Peer: "b", State: "working", Began: began, Since: began}}
	}
	r.node.children = func(of performatives.ConversationID) []performatives.ConversationID {
		return []performatives.ConversationID{of + "-as-new", of + "-new", of + "-old"}
	}
	if c, found := r.Conversation("c"); !found || c.ID != "c" || len(c.Sides) != 1 || !c.Live {
		t.Errorf("%+v", c)
	}
	for _, id := range []performatives.ConversationID{"c-ended", "c-old"} {
		stream.Publish(lifecycle.Ended{At: events.At{Time: began}, Subject: &lifecycle.Subject{Conversation: id, Agent: "a", Parent: "c"}, State: "done", Began: began.Add(-time.Second)})
	}
	stream.Publish(lifecycle.Ended{At: events.At{Time: began}, Subject: &lifecycle.Subject{Conversation: "d", Agent: "a", Parent: "other"}, State: "done", Began: began})
	if got := r.Children("c"); !slices.Equal(got, []performatives.ConversationID{"c-as-new", "c-ended", "c-new", "c-old"}) {
		t.Errorf("the children are %v", got)
	}
}

// The sides are in the order in which they began, the initiator's first of those that began at
// once, in whatever order they are put together.
func TestOrder(t *testing.T) {
	at := time.Unix(1, 0)
	all := []Side{
		{Agent: "c", Role: "responder", Began: at.Add(-1)},
		{Agent: "z", Role: "initiator", Began: at},
		{Agent: "a", Peer: "y", Role: "responder", Began: at},
		{Agent: "a", Peer: "z", Role: "responder", Began: at, Since: at},
		{Agent: "a", Peer: "z", Role: "responder", Began: at, Since: at.Add(1), State: "a"},
		{Agent: "a", Peer: "z", Role: "responder", Began: at, Since: at.Add(1), State: "b"},
		{Agent: "a", Role: "initiator", Began: at.Add(1)},
	}
	for from := range all {
		mixed := slices.Concat(all[from:], all[:from])
		for _, c := range []Conversation{{Sides: mixed}, {Sides: slices.Clone(mixed)}} {
			slices.Reverse(c.Sides)
			if c.Order(); !reflect.DeepEqual(c.Sides, all) {
				t.Errorf("%+v", c.Sides)
			}
		}
	}
}

// The sides of a view have no readings of the monotonic clock, which would order them otherwise
// than the times that are written do, once the clock was set.
func TestBeganHasNoMonotonicTime(t *testing.T) {
	began := time.Now()
	r, stream := newEndRecorder(func(*events.Stream) []codons.Info {
		return []codons.Info{{ID: "c", Agent: "a", Peer: "b", State: "working", Began: began, Since: began}}
	})
	stream.Publish(lifecycle.Ended{At: events.At{Time: began}, Subject: &lifecycle.Subject{Conversation: "c", Agent: "b", Peer: "a"}, State: "done", Began: began})
	one, _ := r.Conversation("c")
	for _, c := range append(r.Conversations(), one) {
		if len(c.Sides) != 2 || c.Sides[0].Began != began.Round(0) || c.Sides[1].Began != began.Round(0) {
			t.Errorf("%+v", c.Sides)
		}
	}
}

// The messages of a conversation are had without asking the node for its live sides, as a search
// through all conversations needs.
func TestMessages(t *testing.T) {
	r, _ := newEndRecorder(func(*events.Stream) []codons.Info {
		t.Error("the node is asked")
		return nil
	})
	e := r.entryLocked(time.Now(), "c")
	e.messages = append(e.messages, kept{rare: &rareFacts{facts: &Message{ID: "m1"}}}, kept{rare: &rareFacts{facts: &Message{ID: "m2"}}})
	if all := r.Messages("c"); len(all) != 2 || all[0].ID != "m1" || all[1].ID != "m2" {
		t.Errorf("%+v", all)
	}
	if all := r.Messages("other"); all != nil {
		t.Errorf("of a conversation that is not recorded: %+v", all)
	}
}
