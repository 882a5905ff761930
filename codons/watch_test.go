package codons_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// watching is a watch of a stream on which a test publishes what it likes.
type watching struct {
	*codons.Watch
	t          *testing.T
	events     actors.Events
	n          int
	violations []codons.Violation
	onReport   func() // on the goroutine of the watch
}

func newWatching(t *testing.T, o codons.WatchOptions) *watching {
	t.Helper()
	w := &watching{t: t}
	w.events.Listen(func(ev actors.Event) {
		w.violations = append(w.violations, ev.(codons.Violation))
		if w.onReport != nil {
			w.onReport()
		}
	}, actors.About[codons.Violation]())
	var err error
	if w.Watch, err = codons.NewWatch(&w.events, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Stop(context.Background()) })
	return w
}

// make returns a message between Eddy and Jules; who is whose first letter.
func (w *watching) make(who string, e p.Envelope) *p.Message {
	w.t.Helper()
	w.n++
	e.ID, e.Timestamp = p.MessageID(fmt.Sprint("m", w.n)), time.Unix(int64(w.n), 0)
	e.Sender, e.Receiver = "Eddy", "Jules"
	if strings.HasPrefix(who, "J") {
		e.Sender, e.Receiver = "jules", "eddy"
	}
	m, err := p.New(e)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *watching) sent(m *p.Message) *p.Message {
	w.events.Publish(actors.MessageSent{At: actors.At{Time: m.Timestamp()}, Message: m})
	return m
}

// ask publishes the opening act of a delegation.
func (w *watching) ask(id p.ConversationID) *p.Message {
	return w.sent(w.make("E", p.Envelope{ConversationID: id, Protocol: "task-delegation", Payload: task()}))
}

// answer publishes what Jules says to a request.
func (w *watching) answer(to *p.Message, payload any) *p.Message {
	w.t.Helper()
	w.n++
	m, err := to.ReplyFrom("jules", p.Stamp{ID: p.MessageID(fmt.Sprint("m", w.n)), Time: time.Unix(int64(w.n), 0)}, 0, payload)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.sent(m)
}

// want stops the watch and expects these violations, as words, and counts.
func (w *watching) want(counts codons.WatchCounts, violations ...string) {
	w.t.Helper()
	if err := w.Stop(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, v := range w.violations {
		got = append(got, v.Got.String())
	}
	if d := cmp.Diff(violations, got); d != "" {
		w.t.Error(d)
	}
	counts.Violations = uint64(len(violations))
	if d := cmp.Diff(counts, w.Counts()); d != "" {
		w.t.Error(d)
	}
}

func TestWatchReports(t *testing.T) {
	w := newWatching(t, codons.WatchOptions{})
	request := w.ask("c")
	w.answer(request, p.TaskAccept{})
	bad := w.answer(request, p.TaskReject{ReasonCode: p.CodeBusy})
	w.answer(request, result(p.StatusSuccess))
	w.want(codons.WatchCounts{Conversations: 1, Messages: 4, Watching: 1}, "responder: TASK_REJECT")
	v := w.violations[0]
	if v.Message != bad || v.Sender != "jules" || v.Receiver != "Eddy" || v.Conversation != "c" || v.Table != "task-delegation" ||
		!v.Time.Equal(bad.Timestamp()) || len(v.Expected) == 0 || !strings.Contains(v.Error(), "TASK_REJECT is not legal here, expected") {
		t.Errorf("%+v: %v", v, v)
	}
}

// TestWatchKnowsWhatAsksForMore needs the tag of the partial result.
func TestWatchKnowsWhatAsksForMore(t *testing.T) {
	for name, c := range map[string]struct {
		first p.InformResult
		want  []string
	}{
		"it asks":         {asking("more"), nil},
		"it does not ask": {result(p.StatusPartial), []string{"initiator: TASK_REQUEST"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatching(t, codons.WatchOptions{})
			request := w.ask("c")
			w.answer(request, p.TaskAccept{})
			w.answer(request, c.first)
			w.sent(w.make("E", p.Envelope{ConversationID: "c", InReplyTo: "m3", Payload: task()}))
			w.want(codons.WatchCounts{Conversations: 1, Messages: 4, Watching: 1}, c.want...)
		})
	}
}

// TestWatchSkipsWhatItCannotJudge is about messages that would break the table,
// could it be known that it applies.
func TestWatchSkipsWhatItCannotJudge(t *testing.T) {
	for name, c := range map[string]struct {
		say  func(*watching)
		want codons.WatchCounts
	}{
		"the beginning was not seen": {func(w *watching) {
			w.sent(w.make("J", p.Envelope{ConversationID: "c", Protocol: "task-delegation", InReplyTo: "m", Payload: result(p.StatusSuccess)}))
		}, codons.WatchCounts{Skipped: 1}},
		"a round whose beginning was not seen": {func(w *watching) {
			w.sent(w.make("E", p.Envelope{ConversationID: "c", Protocol: "task-delegation", InReplyTo: "m", Payload: task()}))
		}, codons.WatchCounts{Skipped: 1}},
		"no protocol": {func(w *watching) {
			w.sent(w.make("E", p.Envelope{ConversationID: "c", Payload: task()}))
			w.sent(w.make("J", p.Envelope{ConversationID: "c", InReplyTo: "m", Payload: result(p.StatusSuccess)}))
		}, codons.WatchCounts{}},
		"a protocol of somebody else": {func(w *watching) {
			w.sent(w.make("E", p.Envelope{ConversationID: "c", Protocol: "barter", Payload: task()}))
			w.sent(w.make("J", p.Envelope{ConversationID: "c", Protocol: "barter", InReplyTo: "m", Payload: result(p.StatusSuccess)}))
		}, codons.WatchCounts{}},
		"with oneself": {func(w *watching) {
			e := w.make("E", p.Envelope{ConversationID: "c", Protocol: "task-delegation", Payload: task()}).Envelope()
			e.Receiver = "eddy"
			m, err := p.New(e)
			if err != nil {
				w.t.Fatal(err)
			}
			w.sent(m)
			e.ID, e.Payload, e.Performative, e.InReplyTo = "answer", result(p.StatusSuccess), 0, string(e.ID)
			if m, err = p.New(e); err != nil {
				w.t.Fatal(err)
			}
			w.sent(m)
		}, codons.WatchCounts{Skipped: 2}},
		"to everybody": {func(w *watching) {
			e := w.make("E", p.Envelope{ConversationID: "c", Protocol: "task-delegation", Payload: task()}).Envelope()
			e.Receiver = ""
			m, err := p.New(e)
			if err != nil {
				w.t.Fatal(err)
			}
			w.answer(w.sent(m), result(p.StatusSuccess))
		}, codons.WatchCounts{Skipped: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatching(t, codons.WatchOptions{})
			c.say(w)
			w.want(c.want)
		})
	}
}

// TestWatchOfPeerWithoutConversationIDs finds the conversation by what is answered.
func TestWatchOfPeerWithoutConversationIDs(t *testing.T) {
	w := newWatching(t, codons.WatchOptions{})
	w.ask("c")
	w.sent(w.make("J", p.Envelope{InReplyTo: "c", Payload: p.TaskAccept{}}))
	w.sent(w.make("J", p.Envelope{InReplyTo: "m1", Payload: asking("more")}))
	w.sent(w.make("J", p.Envelope{InReplyTo: "m1", Payload: p.TaskReject{}}))
	w.want(codons.WatchCounts{Conversations: 1, Messages: 4, Watching: 1}, "responder: TASK_REJECT")
}

func TestWatchOfNamesUsedAgain(t *testing.T) {
	w := newWatching(t, codons.WatchOptions{})
	for range 3 {
		request := w.ask("chat")
		w.answer(request, p.TaskAccept{})
		w.answer(request, result(p.StatusSuccess))
	}
	// A fourth refers to the third, as a reply in a chat does.
	w.answer(w.sent(w.make("E", p.Envelope{ConversationID: "chat", Protocol: "task-delegation", InReplyTo: "m9", Payload: task()})), p.TaskAccept{})
	// Jules asks something under the same name while that goes on, which no row has.
	w.sent(w.make("J", p.Envelope{ConversationID: "chat", Protocol: "whispering-wind", Payload: p.QueryCapabilities{Type: p.QuerySummary}}))
	w.want(codons.WatchCounts{Conversations: 4, Messages: 13, Watching: 1}, "responder: QUERY_CAPABILITIES")
}

func TestWatchOfTwoThatAskEachOther(t *testing.T) {
	w := newWatching(t, codons.WatchOptions{})
	request := w.ask("c")
	w.answer(request, p.TaskAccept{})
	w.answer(request, result(p.StatusSuccess))
	back := w.sent(w.make("J", p.Envelope{ConversationID: "c", Protocol: "task-delegation", Payload: task()}))
	accept, err := back.ReplyFrom("Eddy", p.Stamp{ID: "a", Time: time.Unix(1, 0)}, 0, p.TaskAccept{})
	if err != nil {
		t.Fatal(err)
	}
	w.sent(accept)
	w.sent(request) // again
	w.want(codons.WatchCounts{Conversations: 2, Messages: 7, Watching: 2})
}

func TestWatchOfMessagesSentAgain(t *testing.T) {
	w := newWatching(t, codons.WatchOptions{})
	request := w.ask("c")
	w.sent(request)
	accept := w.answer(request, p.TaskAccept{})
	w.sent(accept)
	w.sent(w.answer(request, result(p.StatusSuccess)))
	w.sent(accept) // by now nothing is resent but the result
	w.want(codons.WatchCounts{Conversations: 1, Messages: 7, Watching: 1})
}

// TestWatchExcusesTheRuntime for what it refuses in an agent's stead.
func TestWatchExcusesTheRuntime(t *testing.T) {
	busy := &p.Refusal{Code: p.CodeBusy}
	reject := p.TaskReject{ReasonCode: p.CodeBusy}
	for name, c := range map[string]struct {
		refused, said bool
		want          []string
	}{
		"a message that was routed back": {refused: true, said: true},
		"an error of Send":               {refused: true},
		"the agent itself":               {said: true, want: []string{"responder: TASK_REJECT"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatching(t, codons.WatchOptions{})
			request := w.ask("c")
			w.answer(request, p.TaskAccept{})
			w.sent(request)
			n := uint64(4)
			if c.refused {
				w.events.Publish(actors.MessageRefused{Message: request, Refusal: busy})
			}
			if c.said {
				w.answer(request, reject)
				n++
			}
			w.answer(request, result(p.StatusSuccess))
			w.want(codons.WatchCounts{Conversations: 1, Messages: n, Watching: 1}, c.want...)
		})
	}
}

func TestWatchLeavesLongConversations(t *testing.T) {
	w := newWatching(t, codons.WatchOptions{Messages: 3})
	request := w.ask("c")
	w.answer(request, p.TaskAccept{})
	w.answer(request, p.StatusUpdate{})
	for range 3 {
		w.answer(request, p.TaskReject{ReasonCode: p.CodeBusy})
	}
	w.sent(request) // begins nothing
	w.answer(request, result(p.StatusSuccess))
	w.want(codons.WatchCounts{Conversations: 1, Messages: 3, Left: 1, Skipped: 5})
}

func TestWatchLeavesTheMostSilent(t *testing.T) {
	w := newWatching(t, codons.WatchOptions{Conversations: 2})
	a, b := w.ask("a"), w.ask("b")
	w.answer(a, p.TaskAccept{})
	c := w.ask("c")                            // b is left
	w.answer(b, result(p.StatusSuccess))       // which nobody judges
	w.sent(b)                                  // begins nothing
	w.answer(b, result(p.StatusSuccess))       // so this says nothing, too
	w.answer(a, result(p.StatusSuccess))       //
	w.answer(c, result(p.StatusSuccess))       // without acceptance
	w.answer(w.ask("b"), p.TaskAccept{})       // another of that name; a is left
	w.answer(a, p.TaskReject{ReasonCode: "x"}) // which nobody judges
	w.want(codons.WatchCounts{Conversations: 4, Messages: 8, Skipped: 4, Left: 2, Watching: 2}, "responder: INFORM_RESULT")
}

// TestWatchThatIsTooSlow drops what it has no room for, and does not judge what it
// has not heard in full.
func TestWatchThatIsTooSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatching(t, codons.WatchOptions{Queue: 2})
		goOn := make(chan struct{})
		w.onReport = func() { <-goOn }
		c := w.ask("c")
		synctest.Wait()
		w.answer(w.ask("busy"), result(p.StatusSuccess))
		synctest.Wait() // the watch is at that
		d, e := w.ask("d"), w.ask("e")
		for _, request := range []*p.Message{c, d} {
			w.answer(request, p.TaskAccept{}) // there is no room
		}
		f := w.ask("f") // nor for this
		close(goOn)
		synctest.Wait()
		for _, request := range []*p.Message{c, d} {
			w.answer(request, result(p.StatusSuccess)) // the acceptances were not heard
		}
		synctest.Wait()
		w.sent(f) // begins nothing: much may have been said since
		synctest.Wait()
		w.answer(f, result(p.StatusSuccess)) // so this says nothing
		w.answer(e, p.TaskAccept{})
		w.want(codons.WatchCounts{Conversations: 4, Messages: 5, Skipped: 5, Left: 2, Dropped: 3, Watching: 2}, "responder: INFORM_RESULT")
	})
}

func TestWatchStops(t *testing.T) {
	w := newWatching(t, codons.WatchOptions{})
	w.ask("c")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := w.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		if err := w.Stop(ended); err != nil { // there is nothing to wait for
			t.Fatal(err)
		}
	}
	w.ask("d")
	if n := w.Counts(); n.Conversations != 1 || n.Dropped != 0 || actors.Wants[actors.MessageSent](&w.events) {
		t.Errorf("%+v", n)
	}
}

// TestWatchStopsInTime leaves what is queued when the caller's time is up.
func TestWatchStopsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatching(t, codons.WatchOptions{})
		goOn := make(chan struct{})
		w.onReport = func() { <-goOn }
		w.answer(w.ask("c"), result(p.StatusSuccess))
		w.ask("d")
		synctest.Wait()
		why := errors.New("no time")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		stopped := make(chan error, 2)
		for range 2 {
			go func() { stopped <- w.Stop(ctx) }()
		}
		synctest.Wait()
		close(goOn)
		if a, b := <-stopped, <-stopped; !errors.Is(a, why) || !errors.Is(b, why) {
			t.Errorf("%v, %v", a, b)
		}
		if n := w.Counts(); n.Conversations != 1 {
			t.Errorf("it went on: %+v", n)
		}
	})
}

func TestWatchOptions(t *testing.T) {
	for name, o := range map[string]codons.WatchOptions{
		"WatchOptions.Conversations": {Conversations: -1},
		"WatchOptions.Messages":      {Messages: codons.MaxWatchedMessages + 1},
		"WatchOptions.Queue":         {Queue: -1},
	} {
		if _, err := codons.NewWatch(&actors.Events{}, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := codons.NewWatch(&actors.Events{}, codons.WatchOptions{Messages: -1}); err == nil {
		t.Error("a negative number of messages")
	}
}

// TestWatchesComeAndGo while others talk.
func TestWatchesComeAndGo(t *testing.T) {
	w := newWatching(t, codons.WatchOptions{})
	requests := make([]*p.Message, 50)
	for i := range requests {
		requests[i] = w.make("E", p.Envelope{Protocol: "task-delegation", Payload: task()})
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				other, err := codons.NewWatch(&w.events, codons.WatchOptions{Queue: 4})
				if err != nil {
					t.Error(err)
					return
				}
				_ = other.Counts()
				if err := other.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 2 {
		wg.Go(func() {
			for _, r := range requests[i*25 : i*25+25] {
				w.sent(r)
			}
		})
	}
	wg.Wait()
	w.want(codons.WatchCounts{Conversations: 50, Messages: 50, Watching: 50})
}

// TestWatchKnowsAReceiptByWhatItAnswers tells it from the result of a request, which
// is an INFORM, too.
func TestWatchKnowsAReceiptByWhatItAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		about string
		want  []string
	}{
		"the CANCEL":  {about: "m2"},
		"the request": {about: "m1", want: []string{"responder: INFORM"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatching(t, codons.WatchOptions{})
			w.ask("c")
			w.sent(w.make("E", p.Envelope{ConversationID: "c", InReplyTo: "m1", Payload: p.Cancel{}}))
			w.sent(w.make("J", p.Envelope{ConversationID: "c", InReplyTo: c.about, Payload: p.Receipt{}}))
			w.want(codons.WatchCounts{Conversations: 1, Messages: 3, Watching: 1}, c.want...)
		})
	}
}
