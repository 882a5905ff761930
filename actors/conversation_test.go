package actors

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The index finds the other conversations of an id after the removal of one, in any order.
func TestConversationsOfOneID(t *testing.T) {
	keys := []Key{{ID: "c", Peer: "x"}, {ID: "c", Peer: "y"}, {ID: "c", Peer: "x", Initiator: true}}
	for removed := range keys {
		cs := new(conversations)
		for _, k := range keys {
			cs.add(&entry{key: k})
		}
		if e := cs.remove(keys[removed]); e == nil || e.key != keys[removed] {
			t.Fatalf("removed %v, want %v", e, keys[removed])
		}
		for i, k := range keys {
			if e := cs.find(k); (e != nil) != (i != removed) || e != nil && e.key != k {
				t.Errorf("after the removal of %v: found %v for %v", keys[removed], e, k)
			}
		}
	}
}

// The removal of a conversation removes its aliases, and no other conversation under the same
// alias.
func TestConversationAliases(t *testing.T) {
	first, second := Key{ID: "c1", Peer: "x"}, Key{ID: "c2", Peer: "y"}
	cs := new(conversations)
	cs.add(&entry{key: first})
	cs.add(&entry{key: second})
	cs.addAlias(Key{ID: "none"}, "m")
	for range 2 {
		cs.addAlias(first, "m")
		cs.addAlias(first, first.ID)
	}
	if e := cs.find(first); len(e.aliases) != 1 {
		t.Errorf("the aliases are %q", e.aliases)
	}
	cs.addAlias(second, "m")
	cs.remove(first)
	if e := cs.find(Key{ID: "m", Peer: "x"}); e != nil {
		t.Errorf("the alias of a removed conversation finds %v", e)
	}
	if e := cs.find(Key{ID: "m", Peer: "y"}); e == nil || e.key != second {
		t.Errorf("the alias of the other conversation finds %v", e)
	}
	cs.remove(second)
	if len(cs.byID) != 0 {
		t.Errorf("%d ids are left in the index", len(cs.byID))
	}
}

// A run of an agent leaves no conversation to the next one.
func TestResetForgetsConversations(t *testing.T) {
	s, err := NewSystem(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(t.Context()) //nolint:errcheck // nothing runs
	c, e := &cell{Registration: Registration{sys: s}}, &entry{key: Key{ID: "c", Peer: "b"}, conversation: &recording{}}
	c.conversations.add(e)
	s.count(e, 1)
	if c.reset(); len(c.conversations.byID) != 0 || s.Counts().Open != 0 {
		t.Errorf("%d are left, and %d are counted", len(c.conversations.byID), s.Counts().Open)
	}
}

// A message goes to the side that its act and its InReplyTo say, else to the other one, but not to
// that of an agent's conversation with itself.
func TestConversationOfAMessage(t *testing.T) {
	const asks, answers, query = performatives.ActRequest, performatives.ActInform, performatives.ActPropose
	initiator, responder := Key{ID: "c", Peer: "x", Initiator: true}, Key{ID: "c", Peer: "x"}
	other := Key{ID: "m", Peer: "x"}
	for name, c := range map[string]struct {
		open     []Key
		withSelf bool
		act      performatives.Performative
		about    string
		want     Key // zero for none
	}{
		"none is open":                         {nil, false, asks, "", Key{}},
		"of another peer":                      {[]Key{{ID: "c", Peer: "y"}}, false, asks, "", Key{}},
		"a request, to the responder":          {[]Key{initiator, responder}, false, asks, "", responder},
		"an answer, to the initiator":          {[]Key{initiator, responder}, false, answers, "m", initiator},
		"a request, only the initiator":        {[]Key{initiator}, false, asks, "", initiator},
		"an answer, only the responder":        {[]Key{responder}, false, answers, "c", responder},
		"by the message that it is about":      {[]Key{other}, false, asks, "m", other},
		"the conversation id comes first":      {[]Key{responder, other}, false, asks, "m", responder},
		"the expected side comes first":        {[]Key{initiator, other}, false, asks, "m", other},
		"a proposal about the opening request": {[]Key{initiator, responder}, false, query, "c", initiator},
		"a proposal about another message":     {[]Key{initiator, responder}, false, query, "n", responder},
		"a proposal to the one of its message": {[]Key{initiator, responder, other}, false, query, "m", initiator},
		"with itself, a request":               {[]Key{initiator, responder}, true, asks, "", responder},
		"with itself, an answer":               {[]Key{initiator, responder}, true, answers, "c", initiator},
		"with itself, only the initiator":      {[]Key{initiator}, true, asks, "", Key{}},
		"with itself, only the responder":      {[]Key{responder}, true, answers, "c", Key{}},
	} {
		cs := new(conversations)
		for _, k := range c.open {
			cs.add(&entry{key: k, withSelf: c.withSelf})
		}
		m, err := performatives.New(performatives.Envelope{
			ID: "m1", ConversationID: "c", Performative: c.act, Sender: "x", Receiver: "a", InReplyTo: c.about, Timestamp: time.Unix(1, 0), Payload: performatives.Raw(`{}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		var got Key
		if e := forMessage(cs, m); e != nil {
			got = e.key
		}
		if got != c.want {
			t.Errorf("%s: it goes to %+v, want %+v", name, got, c.want)
		}
	}
}
