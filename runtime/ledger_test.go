package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

var epoch = time.Unix(1_000_000, 0)

var testLimits = ledgerLimits{open: 4, bytes: 25_000, grace: time.Second, patience: time.Minute}

// act makes a message of a conversation.
func act(t *testing.T, id string, a p.Performative, mod func(*p.Envelope)) *p.Message {
	t.Helper()
	e := p.Envelope{ID: p.MessageID(id), Performative: a, Sender: "s", Receiver: "r", ConversationID: "c", Timestamp: epoch, Payload: p.Raw(`{}`)}
	if a.IsReply() {
		e.InReplyTo = "q"
	}
	if mod != nil {
		mod(&e)
	}
	m, err := p.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// note passes a message through the ledger; in says that the peer has sent it.
func note(t *testing.T, l *ledger, m *p.Message, in bool) error {
	t.Helper()
	e := entry{message: m, local: "here", peer: "there", inbound: in}
	_, err := l.note(e, epoch)
	return err
}

// What opens a conversation, keeps it open and closes it, the same both ways.
func TestLedgerKnowsTheLastWord(t *testing.T) {
	input := p.InformResult{Status: p.StatusPartial, Details: p.ContentOf(map[string]string{"request_for_user": "which file?"})}
	receipt := func(e *p.Envelope) { e.InReplyTo = "x" }
	type step struct {
		act   p.Performative
		reply bool // of the side that answers
		mod   func(*p.Envelope)
		open  int
	}
	for name, steps := range map[string][]step{
		"notice":      {{p.ActInform, false, nil, 0}, {p.ActStatusUpdate, false, nil, 0}},
		"request":     {{p.ActRequest, false, nil, 1}, {p.ActAgree, true, nil, 1}, {p.ActInform, true, nil, 0}},
		"refusal":     {{p.ActRequest, false, nil, 1}, {p.ActRefuse, true, nil, 0}},
		"repetition":  {{p.ActRequest, false, nil, 1}, {p.ActRequest, false, nil, 1}, {p.ActInform, true, nil, 0}},
		"own inform":  {{p.ActRequest, false, nil, 1}, {p.ActInform, false, nil, 1}, {p.ActFailure, true, nil, 0}},
		"delegation":  {{p.ActTaskRequest, false, nil, 1}, {p.ActTaskAccept, true, nil, 1}, {p.ActStatusUpdate, true, nil, 1}, {p.ActInformResult, true, nil, 0}},
		"more input":  {{p.ActTaskRequest, false, nil, 1}, {p.ActInformResult, true, func(e *p.Envelope) { e.Payload = input }, 1}, {p.ActTaskRequest, false, nil, 1}, {p.ActInformResult, true, nil, 0}},
		"cancelled":   {{p.ActTaskRequest, false, nil, 1}, {p.ActTaskAccept, true, nil, 1}, {p.ActCancel, false, nil, 1}, {p.ActInform, true, nil, 0}},
		"late cancel": {{p.ActCancel, false, nil, 1}, {p.ActFailure, true, nil, 0}},
		"won":         {{p.ActCFP, false, nil, 1}, {p.ActPropose, true, nil, 1}, {p.ActAcceptProposal, false, nil, 1}, {p.ActInformResult, true, nil, 0}},
		"lost":        {{p.ActCFP, false, nil, 1}, {p.ActPropose, true, nil, 1}, {p.ActRejectProposal, false, nil, 0}},
		"proposal":    {{p.ActPropose, false, nil, 1}, {p.ActAcceptProposal, true, nil, 0}},
		"stream": {
			{p.ActSubscribe, false, nil, 1},
			{p.ActAgree, true, nil, 1},
			{p.ActInform, true, nil, 1},
			{p.ActInform, true, nil, 1},
			{p.ActCancel, false, func(e *p.Envelope) { e.ID = "x" }, 1},
			{p.ActInform, true, nil, 1},
			{p.ActInform, true, receipt, 0},
		},
		"stream's end": {{p.ActRequestWhenever, false, nil, 1}, {p.ActInform, true, nil, 1}, {p.ActFailure, true, nil, 0}},
	} {
		for _, inbound := range []bool{false, true} {
			l := newLedger(testLimits, new(told))
			for i, s := range steps {
				mod := s.mod
				if i == 0 && mod == nil {
					mod = func(e *p.Envelope) { e.ID = "q" }
				}
				if err := note(t, l, act(t, fmt.Sprint("m", i), s.act, mod), inbound != s.reply); err != nil {
					t.Fatal(err)
				}
				if l.open() != s.open {
					t.Errorf("%s, inbound %t: after step %d, %s, %d are open", name, inbound, i, s.act, l.open())
					break
				}
			}
			if len(l.talks)+len(l.about) != 0 && steps[len(steps)-1].open == 0 {
				t.Errorf("%s: something is left: %v, %v", name, l.talks, l.about)
			}
		}
	}
}

// An answer may refer to what it answers by its id or reply_with alone, where the peer's
// dialect has no conversation ids.
func TestLedgerFindsByReference(t *testing.T) {
	for _, ref := range []string{"q", "w"} {
		l := newLedger(testLimits, new(told))
		if err := note(t, l, act(t, "q", p.ActRequest, func(e *p.Envelope) { e.ReplyWith = "w" }), false); err != nil {
			t.Fatal(err)
		}
		other := act(t, "a", p.ActInform, func(e *p.Envelope) { e.ConversationID, e.InReplyTo = "a", "z" })
		answer := act(t, "a", p.ActInform, func(e *p.Envelope) { e.ConversationID, e.InReplyTo = "a", ref })
		for _, m := range []*p.Message{other, answer} {
			if err := note(t, l, m, true); err != nil {
				t.Fatal(err)
			}
			if open := l.open(); (open == 0) != (m == answer) {
				t.Errorf("after an answer to %s, %d are open", m.InReplyTo(), open)
			}
		}
	}
}

// Conversations of one id with several agents, as those of a call to many, are told
// apart, and so are the two that two agents begin with each other.
func TestLedgerTellsNamesakesApart(t *testing.T) {
	l := newLedger(testLimits, new(told))
	add := func(peer p.AgentID, a p.Performative, in bool) {
		e := entry{message: act(t, "q", a, nil), local: "here", peer: peer, inbound: in}
		if _, err := l.note(e, epoch); err != nil {
			t.Fatal(err)
		}
	}
	add("a", p.ActCFP, false)
	add("b", p.ActCFP, false)
	add("A", p.ActCFP, true)
	if l.open() != 3 {
		t.Fatalf("%d are open", l.open())
	}
	add("B", p.ActRefuse, true)
	if l.open() != 2 {
		t.Errorf("%d are open", l.open())
	}
	if got := l.of("a"); len(got) != 2 || l.open() != 0 {
		t.Errorf("of a: %d, and %d are open", len(got), l.open())
	}
}

func TestLedgerIsBounded(t *testing.T) {
	l := newLedger(testLimits, new(told))
	open := func(i int) error {
		return note(t, l, act(t, fmt.Sprint("q", i), p.ActRequest, func(e *p.Envelope) { e.ConversationID = p.ConversationID(fmt.Sprint(i)) }), i%2 == 0)
	}
	for i := range testLimits.open {
		if err := open(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(9); !errors.Is(err, p.CodeBusy) {
		t.Errorf("one too many: %v", err)
	}
	if err := open(1); err != nil {
		t.Errorf("a repetition: %v", err)
	}
	if err := note(t, l, act(t, "n", p.ActInform, nil), true); err != nil {
		t.Errorf("a notice: %v", err)
	}
}

// Open conversations keep their questions, the first and the latest of each, and so their
// bytes are bounded, too.
func TestLedgerBoundsLongQuestions(t *testing.T) {
	l := newLedger(testLimits, new(told))
	ask := func(conversation, id string, length int) error {
		m := act(t, id, p.ActTaskRequest, func(e *p.Envelope) {
			e.ConversationID, e.Payload = p.ConversationID(conversation), p.TaskRequest{TaskType: "t", Description: strings.Repeat("x", length)}
		})
		m.Weigh()
		return note(t, l, m, true)
	}
	for _, step := range []struct {
		conversation, id string
		length           int
		want             error
	}{
		{"a", "1", 100_000, nil}, // longer than all the room, and alone
		{"b", "2", 5000, p.CodeBusy},
		{"a", "3", 5000, p.CodeBusy}, // the first is kept
	} {
		if err := ask(step.conversation, step.id, step.length); !errors.Is(err, step.want) {
			t.Errorf("%s: %v, want %v", step.id, err, step.want)
		}
	}
	if err := note(t, l, act(t, "z", p.ActFailure, func(e *p.Envelope) { e.ConversationID, e.InReplyTo = "a", "1" }), false); err != nil || l.weight != 0 {
		t.Errorf("%v, and %d bytes are kept", err, l.weight)
	}
	for _, step := range []struct {
		conversation, id string
		length           int
		want             error
	}{
		{"c", "4", 9000, nil},
		{"c", "5", 9000, nil},
		{"c", "6", 9000, nil}, // in place of 5
		{"d", "7", 9000, p.CodeBusy},
		{"c", "8", 4000, nil}, // in place of 6
		{"d", "9", 9000, nil},
		{"e", "10", 9000, p.CodeBusy},
	} {
		if err := ask(step.conversation, step.id, step.length); !errors.Is(err, step.want) {
			t.Errorf("%s: %v, want %v", step.id, err, step.want)
		}
	}
	if l.seal(); l.weight != 0 {
		t.Errorf("%d bytes are kept", l.weight)
	}
}

// A conversation refers to no more messages than it needs, however long it is.
func TestLedgerForgetsOldReferences(t *testing.T) {
	l := newLedger(testLimits, new(told))
	for i := range 100 {
		if err := note(t, l, act(t, fmt.Sprint("q", i), p.ActTaskRequest, nil), true); err != nil {
			t.Fatal(err)
		}
	}
	if l.open() != 1 || len(l.about) != maxRefs {
		t.Errorf("%d open, %d references", l.open(), len(l.about))
	}
}

func TestLedgerExpires(t *testing.T) {
	l := newLedger(testLimits, new(told))
	for id, mod := range map[string]func(*p.Envelope){
		"dated":   func(e *p.Envelope) { e.ReplyBy = epoch.Add(10 * time.Second) },
		"undated": nil,
		"stream":  func(e *p.Envelope) { e.Performative = p.ActSubscribe },
	} {
		m := act(t, id, p.ActRequest, func(e *p.Envelope) {
			e.ConversationID = p.ConversationID(id)
			if mod != nil {
				mod(e)
			}
		})
		if err := note(t, l, m, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		after time.Duration
		want  p.MessageID
	}{{11*time.Second - 1, ""}, {11 * time.Second, "dated"}, {time.Minute - 1, ""}, {time.Minute, "undated"}, {time.Hour, ""}} {
		var got p.MessageID
		for _, t := range l.expired(epoch.Add(test.after)) {
			got += t.asked.ID()
		}
		if got != test.want {
			t.Errorf("after %v: %q, want %q", test.after, got, test.want)
		}
	}
}

// Each round of a conversation has its own time, whatever the rounds before it had: so it
// has for who works on it. To ask for the same again or to withdraw it gains no time.
func TestLedgerWaitsForEachRound(t *testing.T) {
	for what, test := range map[string]struct {
		first time.Time // its ReplyBy
		again p.Performative
		id    string
		due   time.Duration
	}{
		"a further round":         {time.Time{}, p.ActTaskRequest, "more", 50*time.Second + time.Minute},
		"after one with a date":   {epoch.Add(55 * time.Second), p.ActTaskRequest, "more", 50*time.Second + time.Minute},
		"a repetition":            {time.Time{}, p.ActTaskRequest, "q", time.Minute},
		"a withdrawal":            {time.Time{}, p.ActCancel, "no", time.Minute},
		"a withdrawal of a dated": {epoch.Add(55 * time.Second), p.ActCancel, "no", 56 * time.Second},
	} {
		l := newLedger(testLimits, new(told))
		for _, ask := range []struct {
			at time.Duration
			m  *p.Message
		}{
			{0, act(t, "q", p.ActTaskRequest, func(e *p.Envelope) { e.ReplyBy = test.first })},
			{50 * time.Second, act(t, test.id, test.again, nil)},
		} {
			if _, err := l.note(entry{message: ask.m, local: "here", peer: "there", inbound: true}, epoch.Add(ask.at)); err != nil {
				t.Fatal(err)
			}
		}
		if early := l.expired(epoch.Add(test.due - 1)); len(early) != 0 {
			t.Errorf("%s: it has no time", what)
		}
		if late := l.expired(epoch.Add(test.due)); len(late) != 1 {
			t.Errorf("%s: %d are late", what, len(late))
		}
	}
}

// The CANCEL that comes for a request of another session at its due time belongs to the
// request, and opens nothing.
func TestLedgerKeepsForTheCancel(t *testing.T) {
	l := newLedger(testLimits, new(told))
	by := epoch.Add(10 * time.Second)
	ask := act(t, "q", p.ActRequest, func(e *p.Envelope) { e.ReplyBy = by })
	if err := note(t, l, ask, false); err != nil {
		t.Fatal(err)
	}
	due := by.Add(testLimits.grace)
	l.expired(due)
	n, err := l.note(entry{message: act(t, "no", p.ActCancel, nil), local: "here", peer: "there"}, due)
	if err != nil || n.began || l.open() != 1 {
		t.Errorf("%+v, %v, and %d are open", n, err, l.open())
	}
	late := l.expired(due.Add(testLimits.grace))
	if l.open() != 0 || len(late) != 0 || !l.nextDue().IsZero() {
		t.Errorf("%d are open, the peer is told of %d, and the next is due at %v", l.open(), len(late), l.nextDue())
	}
}

// A further round with a later deadline makes another conversation the next that is due.
func TestLedgerOrdersByDue(t *testing.T) {
	l := newLedger(testLimits, new(told))
	for i, by := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second} {
		ask := act(t, string(rune('a'+i)), p.ActTaskRequest, func(e *p.Envelope) {
			e.ConversationID = p.ConversationID(rune('0' + i%2))
			e.ReplyBy = epoch.Add(by)
		})
		if err := note(t, l, ask, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []time.Duration{20 * time.Second, 30 * time.Second} {
		due := epoch.Add(want).Add(testLimits.grace)
		if next := l.nextDue(); !next.Equal(due) {
			t.Errorf("the next is due at %v, want %v", next, due)
		}
		if late := l.expired(due); len(late) != 1 {
			t.Errorf("%d are late at %v", len(late), due)
		}
	}
}

func TestLedgerUndoes(t *testing.T) {
	l := newLedger(testLimits, new(told))
	n, err := l.note(entry{message: act(t, "q", p.ActRequest, nil), local: "here", peer: "there"}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if !l.takeBack(n) {
		t.Error("the sender has been told")
	}
	if l.open() != 0 || len(l.about)+len(l.talks) != 0 {
		t.Errorf("%d are open", l.open())
	}
}

// refusedCopy returns the refusal of a copy of a question by a runtime.
func refusedCopy(t *testing.T, question *p.Message, id p.MessageID, code p.Code) *p.Message {
	t.Helper()
	m := question.RefuseCopy("there", p.Stamp{ID: id, Time: epoch}, code, "")
	if m == nil {
		t.Fatal("it is not refused")
	}
	return m
}

// The refusal of one copy of a question ends a conversation only if no other copy can have arrived.
func TestLedgerRefusedCopies(t *testing.T) {
	for name, c := range map[string]struct {
		act     p.Performative
		copies  int
		heard   bool // between the copies and the refusals
		refused []p.Code
		open    int
	}{
		"the only one":               {p.ActRequest, 1, false, []p.Code{p.CodeBusy}, 0},
		"one of two":                 {p.ActRequest, 2, false, []p.Code{p.CodeBusy}, 1},
		"two of two":                 {p.ActRequest, 2, false, []p.Code{p.CodeBusy, p.CodeStopped}, 0},
		"after progress":             {p.ActRequest, 1, true, []p.Code{p.CodeBusy}, 1},
		"a full mailbox, of CANCEL":  {p.ActCancel, 1, false, []p.Code{p.CodeBusy}, 1},
		"a stopped agent, of CANCEL": {p.ActCancel, 1, false, []p.Code{p.CodeStopped}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, lost := range []bool{false, true} {
				l := newLedger(testLimits, new(told))
				to := func(e *p.Envelope) { e.Receiver = "there" }
				m := act(t, "q", p.ActRequest, to)
				if err := note(t, l, m, false); err != nil {
					t.Fatal(err)
				}
				if c.act == p.ActCancel {
					m = act(t, "x", p.ActCancel, to)
					if err := note(t, l, m, false); err != nil {
						t.Fatal(err)
					}
				}
				for range c.copies - 1 {
					if err := note(t, l, m, false); err != nil {
						t.Fatal(err)
					}
				}
				if c.heard {
					agreed := act(t, "a", p.ActAgree, nil)
					if err := note(t, l, agreed, true); err != nil {
						t.Fatal(err)
					}
				}
				for i, code := range c.refused {
					if lost {
						l.lost(m, code)
						continue
					}
					if err := note(t, l, refusedCopy(t, m, p.MessageID("r"+string(rune('0'+i))), code), true); err != nil {
						t.Fatal(err)
					}
				}
				if got := l.open(); got != c.open {
					t.Errorf("lost %v: %d are open, want %d", lost, got, c.open)
				}
			}
		})
	}
}

// A copy that was not passed on after all does not count.
func TestLedgerUndoesCopy(t *testing.T) {
	l := newLedger(testLimits, new(told))
	m := act(t, "q", p.ActRequest, func(e *p.Envelope) { e.Receiver = "there" })
	if err := note(t, l, m, false); err != nil {
		t.Fatal(err)
	}
	n, err := l.note(entry{message: m, local: "here", peer: "there"}, epoch)
	if err != nil || !l.takeBack(n) {
		t.Fatal(err)
	}
	if err := note(t, l, refusedCopy(t, m, "r", p.CodeBusy), true); err != nil || l.open() != 0 {
		t.Errorf("%d are open, %v", l.open(), err)
	}
}

// Each message that does not arrive is told of once: by its loss or by the end.
func TestLedgerTellsOfLossOnce(t *testing.T) {
	l := newLedger(testLimits, new(told))
	m := act(t, "q", p.ActRequest, func(e *p.Envelope) { e.Receiver = "there" })
	if err := note(t, l, m, false); err != nil {
		t.Fatal(err)
	}
	if !l.lost(m, p.CodeStopped) || l.open() != 0 {
		t.Error("a loss before the end is not told")
	}
	if l.lost(m, p.CodeStopped) {
		t.Error("the loss of a repetition is told again")
	}
	if err := note(t, l, m, false); err != nil {
		t.Fatal(err)
	}
	if got := l.seal(); len(got) != 1 {
		t.Errorf("%d were open", len(got))
	}
	if l.lost(m, p.CodeStopped) {
		t.Error("who has been told by the end is told again")
	}
	if err := note(t, l, m, false); !errors.Is(err, p.CodeStopped) {
		t.Errorf("after the end: %v", err)
	}
}

// A last word that was not passed on leaves its conversation open; after the end of the
// session somebody has to be told.
func TestLedgerReopens(t *testing.T) {
	l := newLedger(testLimits, new(told))
	if err := note(t, l, act(t, "q", p.ActTaskRequest, nil), false); err != nil {
		t.Fatal(err)
	}
	word := entry{message: act(t, "q", p.ActFailure, nil), local: "here", peer: "there", inbound: true}
	first, err := l.note(word, epoch)
	if err != nil || !first.closed || l.open() != 0 {
		t.Fatalf("%+v, %v, and %d are open", first, err, l.open())
	}
	if !l.takeBack(first) || l.open() != 1 {
		t.Fatalf("%d are open", l.open())
	}
	again, err := l.note(word, epoch)
	if err != nil || again.talk != first.talk || l.open() != 0 {
		t.Errorf("%+v, %v, and %d are open", again, err, l.open())
	}
	l.seal()
	if l.takeBack(again) {
		t.Error("reopened after the end of the session")
	}
	if !l.takeBack(noted{}) {
		t.Error("no conversation was closed, and somebody is to be told")
	}
}

// Whoever gets the last word may act on it at once, so the conversation is closed by then.
func TestLastWordClosesFirst(t *testing.T) {
	l := &link{ledger: newLedger(testLimits, new(told))}
	l.ended = true // without a clock
	ask := entry{message: act(t, "q", p.ActTaskRequest, nil), local: "here", peer: "there"}
	if err := l.pass(ask, func(*p.Message) error { return nil }); err != nil {
		t.Fatal(err)
	}
	word := entry{message: act(t, "w", p.ActFailure, nil), local: "here", peer: "there", inbound: true}
	err := l.pass(word, func(*p.Message) error {
		if l.ledger.open() != 0 {
			t.Error("the conversation is open as its last word arrives")
		}
		return errors.New("and does not")
	})
	if err == nil || l.ledger.open() != 1 {
		t.Errorf("the word was not passed on (%v), and %d are open", err, l.ledger.open())
	}
}

// What is open again after its last word did not get through is looked after, also when the
// timer has fired in between, and found nothing.
func TestReopenedExpires(t *testing.T) {
	n, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	l := newLink(n, nil, ledgerLimits{open: 1, bytes: 1, grace: time.Hour, patience: time.Hour})
	t.Cleanup(func() { l.end(disconnected) })
	ask := entry{message: act(t, "q", p.ActTaskRequest, nil), local: "here", peer: "there", inbound: true}
	if err := l.pass(ask, func(*p.Message) error { return nil }); err != nil {
		t.Fatal(err)
	}
	word := entry{message: act(t, "w", p.ActFailure, nil), local: "here", peer: "there"}
	if err := l.pass(word, func(*p.Message) error { l.expire(); return refused(p.CodeBusy, "") }); err == nil {
		t.Fatal("it got through")
	}
	if l.ledger.open() != 1 || !l.wake.Equal(l.ledger.nextDue()) {
		t.Errorf("%d are open, the timer is set for %v, and the next is due at %v", l.ledger.open(), l.wake, l.ledger.nextDue())
	}
}

// Who was told in a peer's stead that it is lost is not told a second end: not by that
// session, and not by the next. Whoever asks once more is answered.
func TestToldOnce(t *testing.T) {
	question := func(ref string) *p.Message {
		return act(t, "q", p.ActRequest, func(e *p.Envelope) { e.Receiver, e.ReplyWith = "there", ref })
	}
	for what, end := range map[string]func(*ledger){
		"the end of the session": func(l *ledger) { l.seal() },
		"the end of the agent":   func(l *ledger) { l.of("there") },
		"a loss":                 func(l *ledger) { l.lost(question("w"), p.CodeStopped) },
		"the end of the session during an answer that does not get through": func(l *ledger) {
			n, err := l.note(entry{message: act(t, "a", p.ActInform, nil), local: "here", peer: "there", inbound: true}, epoch)
			if l.seal(); err != nil || !n.closed || l.takeBack(n) {
				t.Errorf("%+v, %v", n, err)
			}
		},
	} {
		all := new(told)
		l := newLedger(testLimits, all)
		ask := func(l *ledger, ref string) error { return note(t, l, question(ref), false) }
		answer := func(l *ledger, ref string) error {
			return note(t, l, act(t, "a", p.ActInform, func(e *p.Envelope) { e.InReplyTo, e.ConversationID = ref, "other" }), true)
		}
		if err := ask(l, "w"); err != nil {
			t.Fatal(err)
		}
		if end(l); l.open() != 0 {
			t.Fatalf("%s: %d conversations are open", what, l.open())
		}
		if l.sealed {
			l = newLedger(testLimits, all)
		}
		for _, ref := range []string{"q", "w"} {
			if err := answer(l, ref); !errors.Is(err, p.CodeConversationEnded) {
				t.Errorf("%s: a late answer to %q: %v", what, ref, err)
			}
		}
		if err := answer(l, "z"); err != nil {
			t.Errorf("%s: something else: %v", what, err)
		}
		if err := errors.Join(ask(l, "w"), answer(l, "w")); err != nil {
			t.Errorf("%s: a repetition: %v", what, err)
		}
	}
}

// A peer that was told in an agent's stead is not told a second end by the agent, and who
// is told the end of a session still may be answered over the next.
func TestPeerIsToldOnce(t *testing.T) {
	for what, test := range map[string]struct {
		end  func(*ledger)
		told bool
	}{
		"the end of the session": {func(l *ledger) { l.seal() }, false},
		"the end of the agent":   {func(l *ledger) { l.of("there") }, true},
		"the end of patience":    {func(l *ledger) { l.expired(epoch.Add(time.Hour)) }, true},
	} {
		all := new(told)
		l := newLedger(testLimits, all)
		if err := note(t, l, act(t, "q", p.ActRequest, nil), true); err != nil {
			t.Fatal(err)
		}
		test.end(l)
		late := act(t, "a", p.ActInform, func(e *p.Envelope) { e.InReplyTo = "q" })
		err := note(t, newLedger(testLimits, all), late, false)
		if got := errors.Is(err, p.CodeConversationEnded); got != test.told {
			t.Errorf("%s: a late answer: %v", what, err)
		}
	}
}

// An answer to a question that was told its end does not end the next question of the same
// conversation.
func TestLateAnswerEndsNothing(t *testing.T) {
	all := new(told)
	all.add(false, "here", "first")
	l := newLedger(testLimits, all)
	if err := note(t, l, act(t, "second", p.ActRequest, nil), false); err != nil {
		t.Fatal(err)
	}
	answer := func(ref string) error {
		return note(t, l, act(t, "a", p.ActInform, func(e *p.Envelope) { e.InReplyTo = ref }), true)
	}
	if err := answer("first"); !errors.Is(err, p.CodeConversationEnded) || l.open() != 1 {
		t.Errorf("%v, and %d are open", err, l.open())
	}
	if err := answer("second"); err != nil || l.open() != 0 {
		t.Errorf("%v, and %d are open", err, l.open())
	}
}

// A peer that numbers its messages anew in each session gets its answers in each, however
// many it waits for at once.
func TestNumberedAnew(t *testing.T) {
	all := new(told)
	before, now := newLedger(testLimits, all), newLedger(testLimits, all)
	for _, l := range []*ledger{before, now} {
		for _, id := range []string{"1", "2"} {
			if err := note(t, l, act(t, id, p.ActRequest, func(e *p.Envelope) { e.Sender, e.ReplyWith = "there", "with "+id }), true); err != nil {
				t.Fatal(err)
			}
		}
		if l == before {
			l.expired(epoch.Add(time.Hour))
		}
	}
	for _, ref := range []string{"1", "2", "with 2"} {
		if err := note(t, now, act(t, "a", p.ActInform, func(e *p.Envelope) { e.InReplyTo = ref }), false); err != nil {
			t.Errorf("the answer to %q: %v", ref, err)
		}
	}
}

// A CANCEL that did not get out is not what the conversation waits for.
func TestLedgerUndoesFurtherQuestions(t *testing.T) {
	l := newLedger(testLimits, new(told))
	if err := note(t, l, act(t, "q", p.ActRequest, nil), false); err != nil {
		t.Fatal(err)
	}
	n, err := l.note(entry{message: act(t, "c", p.ActCancel, nil), local: "here", peer: "there"}, epoch)
	if err != nil || !l.takeBack(n) {
		t.Fatal(err)
	}
	if open := l.seal(); len(open) != 1 || open[0].asked.ID() != "q" {
		t.Errorf("%d were open", len(open))
	}
	if l.weight != 0 {
		t.Errorf("%d bytes are kept", l.weight)
	}
}

// A question of the peer's that is not delivered is answered by whoever ends its
// conversation in the meantime, and by nobody else.
func TestPassMeetsTheEnd(t *testing.T) {
	for _, ends := range []bool{false, true} {
		l := &link{ledger: newLedger(testLimits, new(told))}
		ask := entry{message: act(t, "q", p.ActRequest, nil), local: "here", peer: "there", inbound: true}
		err := l.pass(ask, func(*p.Message) error {
			if ends {
				l.ledger.of("there")
			}
			return refused(p.CodeBusy, "")
		})
		if (err == nil) != ends {
			t.Errorf("it ends: %t; %v", ends, err)
		}
	}
}

// A node remembers so many of those that were told, the latest.
func TestToldIsBounded(t *testing.T) {
	var all told
	for i := range 2*maxTold + 1 {
		all.add(true, "Asker", fmt.Sprint(i), fmt.Sprint(i))
	}
	if len(all.known) != maxTold || len(all.order) != maxTold {
		t.Errorf("%d and %d are known", len(all.known), len(all.order))
	}
	for i, want := range map[int]bool{0: false, maxTold: false, maxTold + 1: true, 2 * maxTold: true} {
		if got := all.has(true, "asker", fmt.Sprint(i)); got != want {
			t.Errorf("%d is known: %t", i, got)
		}
	}
}

// A question that was asked again and told again is as new as the second time.
func TestToldAgain(t *testing.T) {
	var all told
	all.add(true, "s", "q")
	for i := range maxTold - 1 {
		all.add(true, "s", fmt.Sprint(i))
	}
	all.asked(true, act(t, "q", p.ActRequest, nil))
	if all.has(true, "s", "q") {
		t.Error("it was asked again, and is told")
	}
	all.add(true, "s", "q") // in its own place, which is the oldest
	all.asked(true, act(t, "q", p.ActRequest, nil))
	all.add(true, "s", "q")
	all.add(true, "s", "another")
	for ref, want := range map[string]bool{"q": true, "another": true, "1": false, "2": true} {
		if got := all.has(true, "s", ref); got != want {
			t.Errorf("%q is told: %t", ref, got)
		}
	}
	for i := range maxTold - 2 {
		all.add(true, "s", fmt.Sprint("later ", i))
	}
	if !all.has(true, "s", "q") {
		t.Error("its former place has taken it along")
	}
}

// Who asks again after a CANCEL was sent in its stead gets what answers the CANCEL. The memory of that is bounded.
func TestToldCancels(t *testing.T) {
	all := new(told)
	request, cancel := act(t, "q", p.ActRequest, nil), act(t, "x", p.ActCancel, nil)
	all.addCancel(true, "s", cancel, request)
	if !all.has(true, "s", "x") {
		t.Error("the receipt of the CANCEL is passed on")
	}
	all.asked(true, request)
	if all.has(true, "s", "x") || len(all.cancels) != 0 {
		t.Error("the receipt is not passed on to who asks again")
	}
	all.addCancel(true, "s", cancel, request)
	for i := range maxTold {
		all.add(true, "s", fmt.Sprint(i))
	}
	if len(all.cancels) != 0 || len(all.known) != maxTold {
		t.Errorf("%d and %d are remembered", len(all.cancels), len(all.known))
	}
}
