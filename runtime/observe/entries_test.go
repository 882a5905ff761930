package observe

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The entries are found by their ids and are in the order of their latest events, whatever is
// added, touched and removed.
func TestEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := newEntries()
	known := map[performatives.ConversationID]*entry{}
	var order []performatives.ConversationID // the oldest first
	forget := func(id performatives.ConversationID) {
		order = slices.DeleteFunc(order, func(o performatives.ConversationID) bool { return o == id })
	}
	for range 6000 {
		id := performatives.ConversationID(fmt.Sprint(rng.IntN(1500)))
		e := all.by[id]
		if e != known[id] {
			t.Fatalf("%q: found %v, want %v", id, e, known[id])
		}
		switch {
		case e == nil:
			e = &entry{id: id}
			all.add(e)
			known[id] = e
			order = append(order, id)
		case rng.IntN(4) == 0:
			all.remove(e)
			delete(known, id)
			forget(id)
		default:
			all.touch(e)
			forget(id)
			order = append(order, id)
		}
	}
	if len(all.by) != len(known) {
		t.Errorf("%d entries, want %d", len(all.by), len(known))
	}
	var forward, backward []performatives.ConversationID
	for e := all.oldest; e != nil; e = e.newer {
		forward = append(forward, e.id)
	}
	for e := all.newest; e != nil; e = e.older {
		backward = append(backward, e.id)
	}
	slices.Reverse(backward)
	if !slices.Equal(forward, order) || !slices.Equal(backward, order) {
		t.Errorf("the order is %v and %v, want %v", forward, backward, order)
	}
}

// The record of a message that is forgotten, or that has moved because the conversation has
// outgrown the memory of its entry, keeps no message alive.
func TestEntryKeepsNoOldMessage(t *testing.T) {
	e := new(entry)
	e.messages = e.firstMessages[:0]
	for range len(e.firstMessages) {
		e.add(kept{source: new(performatives.Message)})
	}
	if &e.messages[0] != &e.firstMessages[0] {
		t.Error("the first messages have memory of their own")
	}
	for range 3 * len(e.firstMessages) {
		before := e.messages[:cap(e.messages)]
		if k := e.add(kept{source: new(performatives.Message)}); k != &e.messages[len(e.messages)-1] || k.source == nil {
			t.Fatal("add has returned another record")
		}
		if &before[0] != &e.messages[0] {
			for i := range before {
				if before[i].source != nil {
					t.Fatalf("old record %d of %d keeps a message", i, len(before))
				}
			}
		}
	}
	for i := range e.messages {
		if e.messages[i].source == nil {
			t.Errorf("message %d is lost", i)
		}
	}
}

// What is forgotten is not kept alive by the memory that is used again.
func TestForgottenEntryKeepsNothing(t *testing.T) {
	r := &Recorder{options: Options{Conversations: 1, Bytes: 1 << 20, Messages: 2}, recent: newEntries()}
	e := r.newEntryLocked(time.Now(), "c")
	for range 3 {
		e.add(kept{source: new(performatives.Message), bytes: 1})
	}
	if r.forgetMessageLocked(e); len(e.messages) != 2 || e.firstMessages[0].source != nil || e.firstMessages[1].source == nil {
		t.Error("the forgotten message is kept, or another one is forgotten")
	}
	e.endOf(&lifecycle.Subject{Agent: "a"})
	if r.forgetLocked(e); r.free != e || !reflect.DeepEqual(*e, entry{}) {
		t.Error("the memory of the conversation keeps something of it")
	}
}

// The refusal of a message does not change what a reader has of it.
func TestRefusalLeavesReaders(t *testing.T) {
	k := kept{rare: &rareFacts{facts: &Message{ID: "m"}}}
	before := k
	if k.refuse("busy", 1); before.view().Refused != "" || k.view().Refused != "busy" || k.view().ID != "m" {
		t.Errorf("%+v, %+v", before.view(), k.view())
	}
}

// What is estimated of the memory of a record is not less than its memory.
func TestEstimates(t *testing.T) {
	for name, is := range map[string]struct{ estimated, used uintptr }{
		"conversation": {conversationBytes, reflect.TypeFor[entry]().Size()}, "side": {sideBytes, reflect.TypeFor[end]().Size()},
		"message": {messageBytes, reflect.TypeFor[kept]().Size()}, "facts": {factsBytes, reflect.TypeFor[Message]().Size()},
		"state": {stateBytes, reflect.TypeFor[machine.State]().Size()},
	} {
		if is.estimated < is.used {
			t.Errorf("%s: %d bytes, estimated as %d", name, is.used, is.estimated)
		}
	}
}

// A time is read as it was recorded, in the local zone. The zero time stays zero.
func TestInstant(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Now(), time.Date(1678, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(2261, 12, 31, 0, 0, 0, 0, time.FixedZone("east", 9*3600))} {
		if got := instantOf(at).time(); !got.Equal(at) || got.IsZero() != at.IsZero() {
			t.Errorf("%v is %v", at, got)
		}
	}
}
