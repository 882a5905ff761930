package exchange

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

type call struct {
	Request
	Trace string
}

// At its limit, Pending drops the oldest request. What it stores of those that are gone is bounded.
func TestPendingIsBounded(t *testing.T) {
	var p Pending[*call]
	var removed []performatives.MessageID
	p.Init(2, false, func(x *call) { removed = append(removed, x.ID) })
	first := &call{Request: Request{ID: "0"}}
	p.Add(first)
	for i := range 20 {
		id := performatives.MessageID(rune('a' + i))
		p.Add(&call{Request: Request{ID: id}})
		if i%2 == 0 {
			p.Remove(p.Find("", string(id)))
		}
		if p.Len() > 2 || len(p.ids) != p.Len() || len(p.order) > 4 {
			t.Fatalf("%d requests, %d ids, %d in order", p.Len(), len(p.ids), len(p.order))
		}
	}
	if !slices.Contains(removed, "0") || p.Find("", "0") != nil || len(removed) != 19 {
		t.Errorf("removed %v", removed)
	}
	p.Remove(first) // again
	p.Remove(nil)
	if p.Len() != 2 {
		t.Errorf("%d requests", p.Len())
	}
}

// The memory of removed requests is bounded also behind one that stays, and is empty without any.
// A request takes the place of the one with its id.
func TestPendingForgets(t *testing.T) {
	var p Pending[*call]
	p.Init(2, false, nil)
	p.Add(&call{Request: Request{ID: "stays"}})
	for i := range 20 {
		p.Add(&call{Request: Request{ID: performatives.MessageID(rune('a' + i))}})
		p.Add(&call{Request: Request{ID: performatives.MessageID(rune('a' + i))}, Trace: "again"})
		x := p.Find("", string(rune('a'+i)))
		if p.Len() != 2 || len(p.order) > 4 || x.Trace != "again" {
			t.Fatalf("%d requests, %d in order, the last is %+v", p.Len(), len(p.order), x)
		}
		p.Remove(x)
	}
	all := p.order[:cap(p.order)]
	p.Remove(p.Find("", "stays"))
	if p.Len() != 0 || len(p.order) != 0 || slices.ContainsFunc(all, func(x *call) bool { return x != nil }) {
		t.Errorf("%d requests, in order %v", p.Len(), all)
	}
	var lock sync.Mutex
	if err := (Handover[*call]{Lock: &lock, Calls: &p}).Adopt([]byte("x")); err == nil || !strings.HasPrefix(err.Error(), "requests of another session: ") {
		t.Error(err)
	}
}

// Two agents of this node may use one id, and the case of an agent's id does not matter.
func TestPendingOfThisNode(t *testing.T) {
	var p Pending[*call]
	p.Init(0, true, nil)
	for _, asker := range []performatives.AgentID{"A", "B"} {
		p.Add(&call{Request: Request{ID: "m", Asker: asker}})
	}
	if x := p.Find("a", "m"); p.Len() != 2 || x == nil || x.Asker != "A" || p.Find("C", "m") != nil {
		t.Errorf("%d requests, that of a is %+v", p.Len(), x)
	}
}

// A request with a CANCEL is found by both ids, and ends with the answer to the CANCEL.
func TestPendingCancel(t *testing.T) {
	var p Pending[*call]
	p.Init(0, false, nil)
	x := &call{Request: Request{ID: "m", Reference: "m"}}
	p.Add(x)
	p.AddCancel(x, "early", "early")
	p.AddCancel(x, "c", "r")
	if p.Find("", "c") != x || p.Find("", "m") != x || p.Find("", "early") != nil || !x.IsOfCancel("r") || x.IsOfCancel("m") {
		t.Errorf("%+v", x)
	}
	if p.End(x, true, false); p.Len() != 1 {
		t.Error("the answer to the request has ended it")
	}
	if p.End(x, false, true); p.Len() != 0 || len(p.ids) != 0 {
		t.Errorf("the answer to the CANCEL has not ended it: %d, %v", p.Len(), p.ids)
	}
}

// Another session adopts the requests of one agent with their CANCELs.
func TestPendingAdopt(t *testing.T) {
	var p, q Pending[*call]
	p.Init(0, false, nil)
	q.Init(0, false, nil)
	for _, agent := range []performatives.AgentID{"a", "b"} {
		p.Add(&call{Request: Request{ID: performatives.MessageID("m-" + agent), Agent: agent}, Trace: "t"})
	}
	p.AddCancel(p.Find("", "m-a"), "c", "r")
	var lock sync.Mutex
	from, to := Handover[*call]{&lock, &p}, Handover[*call]{&lock, &q}
	requests, err := from.Requests("A")
	if err == nil {
		err = to.Adopt(requests)
	}
	x := q.Find("", "c")
	if err != nil || q.Len() != 1 || x == nil || x.ID != "m-a" || x.Trace != "t" || x.CancelRef != "r" {
		t.Errorf("%v, %d requests, %+v", err, q.Len(), x)
	}
	if err := to.Adopt([]byte("{")); err == nil {
		t.Error("broken JSON is adopted")
	}
}

// The FAILURE of a request goes to its asker, in its conversation, and answers its CANCEL where
// there is one.
func TestFailure(t *testing.T) {
	r := Request{Agent: "bea", Asker: "Ada", Reference: "m", Conversation: "c", Cancel: "n"}
	for _, want := range []string{"m", "n"} {
		m := r.Failure(performatives.Stamp{ID: "f", Time: time.Unix(1, 0)}, "Bea", performatives.CodeFailed, "torn")
		if m == nil || m.ID() != "f" || m.Sender() != "Bea" || m.Receiver() != "Ada" || m.ConversationID() != "c" || m.InReplyTo() != want {
			t.Fatalf("%v, want an answer to %s", m, want)
		}
		if f, err := performatives.PayloadAs[performatives.Failure](m); err != nil || f.ErrorCode != performatives.CodeFailed || f.ErrorText != "torn" {
			t.Errorf("%+v, %v", f, err)
		}
		r.CancelRef = "n"
	}
	if m := r.Failure(performatives.Stamp{ID: "f"}, "", performatives.CodeFailed, ""); m != nil {
		t.Errorf("a FAILURE of nobody: %v", m)
	}
}

// When there is no room, requests that have expired make it, and others do not. The requests are
// looked through at most once a second, unless one has expired at once.
func TestRoom(t *testing.T) {
	var p Pending[*call]
	p.Init(3, false, nil)
	at := time.Unix(100, 0)
	for id, expires := range map[performatives.MessageID]time.Time{"never": {}, "soon": at.Add(time.Minute), "late": at.Add(time.Hour)} {
		if !p.Room(at) {
			t.Fatal("no room below the limit")
		}
		p.Add(&call{Request: Request{ID: id, Expires: expires}})
	}
	if p.Room(at.Add(time.Minute-1)) || p.Len() != 3 {
		t.Error("a request has expired early")
	}
	if p.Room(at.Add(time.Minute + time.Millisecond)) {
		t.Error("the requests are looked through again within a second")
	}
	if !p.Room(at.Add(2*time.Minute)) || p.Find("", "soon") != nil || p.Len() != 2 {
		t.Errorf("%d requests", p.Len())
	}
	p.Add(&call{Request: Request{ID: "last"}})
	now := at.Add(3 * time.Minute)
	if p.Room(now) {
		t.Error("room for a fourth")
	}
	p.Expire(p.Find("", "last"))
	if !p.Room(now) || p.Find("", "last") != nil || p.Len() != 2 || p.Find("", "never") == nil || p.Find("", "late") == nil {
		t.Errorf("%d requests", p.Len())
	}
}

// An index finds the oldest and the latest request of a key, and those that fit, whatever was
// removed between them.
func TestIndex(t *testing.T) {
	var p Pending[*call]
	p.Init(0, false, nil)
	i := IndexOf(&p, func(x *call) string { return x.Trace })
	add := func(id performatives.MessageID, trace string) *call {
		x := &call{Request: Request{ID: id}, Trace: trace}
		p.Add(x)
		return x
	}
	a, b, c, d := add("a", "t"), add("b", "t"), add("c", "t"), add("d", "u")
	add("none", "")
	is := func(want *call) func(*call) bool { return func(x *call) bool { return x == want } }
	if i.Oldest("t") != a || i.Latest("t") != c || i.Latest("u") != d || i.Oldest("u") != d || i.Latest("") != nil || i.Len() != 2 {
		t.Fatalf("%+v", i.entries)
	}
	for _, x := range []*call{a, b, c} {
		if i.Any("t", is(x)) != x || i.Any("u", is(x)) != nil {
			t.Errorf("%s is not found", x.ID)
		}
	}
	p.Remove(b)
	if i.Oldest("t") != a || i.Latest("t") != c || i.Any("t", is(b)) != nil {
		t.Errorf("%+v", i.entries)
	}
	p.Remove(c)
	if i.Oldest("t") != a || i.Latest("t") != a {
		t.Errorf("%+v", i.entries)
	}
	p.Remove(a)
	p.Remove(d)
	if i.Len() != 0 || i.Oldest("t") != nil || !a.Over() {
		t.Errorf("%+v", i.entries)
	}
}

// A CANCEL that was not served leaves its request as it was.
func TestCancelNotServed(t *testing.T) {
	var p Pending[*call]
	p.Init(0, false, nil)
	x := &call{Request: Request{ID: "m", Reference: "m"}}
	p.Add(x)
	p.AddCancel(x, "c", "c")
	p.AddCancel(x, "", "")
	if p.Find("", "c") != nil || p.Find("", "") != nil || x.IsOfCancel("c") || x.IsOfCancel("") {
		t.Errorf("%+v", x)
	}
	if p.End(x, true, false); p.Len() != 0 {
		t.Error("the answer to the request has not ended it")
	}
}

// The requests of one agent are adopted with their order, and those of no agent stay.
func TestOf(t *testing.T) {
	var p Pending[*call]
	p.Init(0, false, nil)
	for _, r := range []Request{{ID: "1", Agent: "a"}, {ID: "2"}, {ID: "3", Agent: "a"}, {ID: "4", Agent: "b"}} {
		p.Add(&call{Request: r})
	}
	if all := p.Of("A"); len(all) != 2 || all[0].ID != "1" || all[1].ID != "3" {
		t.Errorf("%+v", all)
	}
}
