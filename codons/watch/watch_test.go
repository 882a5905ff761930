package watch_test

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

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/watch"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// fixture is a Watch of an event stream on which the test publishes messages.
type fixture struct {
	*watch.Watch
	t          *testing.T
	events     events.Stream
	n          int
	violated   *events.Subscription
	violations []lifecycle.Violation // set by want
}

// newFixture starts a Watch of the library's codons.
func newFixture(t *testing.T, o watch.Options) *fixture {
	t.Helper()
	o.Codons = library.Codons()
	w := &fixture{t: t}
	w.violated = kit.Recording(&w.events, lifecycle.KindViolation)
	var err error
	if w.Watch, err = watch.New(&w.events, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Stop(context.Background()) })
	return w
}

// message returns a fresh message from Eddy to Jules, or from Jules to Eddy for from "J".
func (w *fixture) message(from string, e p.Envelope) *p.Message {
	w.t.Helper()
	w.n++
	e.ID, e.Timestamp = p.MessageID(fmt.Sprint("m", w.n)), time.Unix(int64(w.n), 0)
	e.Sender, e.Receiver = "Eddy", "Jules"
	if from == "J" {
		e.Sender, e.Receiver = "jules", "eddy"
	}
	m, err := p.New(e)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// sent publishes that a message was sent.
func (w *fixture) sent(m *p.Message) *p.Message {
	w.events.Publish(events.MessageSent{At: events.At{Time: m.Timestamp()}, Message: m})
	return m
}

// ask publishes the opening act of a delegation.
func (w *fixture) ask(id p.ConversationID) *p.Message {
	return w.sent(w.message("E", p.Envelope{ConversationID: id, Protocol: "task-delegation", Payload: kit.Task()}))
}

// answer publishes the answer of Jules to a request.
func (w *fixture) answer(to *p.Message, payload any) *p.Message {
	w.t.Helper()
	return w.sent(w.reply(to, payload))
}

// reply returns a message of Jules that answers a request.
func (w *fixture) reply(to *p.Message, payload any) *p.Message {
	w.t.Helper()
	w.n++
	m, err := to.ReplyFrom("jules", p.Stamp{ID: p.MessageID(fmt.Sprint("m", w.n)), Time: time.Unix(int64(w.n), 0)}, 0, payload)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// want stops the watch and compares its counts and the text of its violations.
func (w *fixture) want(counts watch.Counts, violations ...string) {
	w.t.Helper()
	if err := w.Stop(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.violations = kit.Published[lifecycle.Violation](w.t, w.violated)
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
	w := newFixture(t, watch.Options{})
	request := w.ask("c")
	w.answer(request, p.TaskAccept{})
	bad := w.answer(request, p.TaskReject{ReasonCode: p.CodeBusy})
	w.answer(request, kit.Result(p.StatusSuccess))
	w.want(watch.Counts{Conversations: 1, Messages: 4, Watching: 1}, "responder: TASK_REJECT")
	v := w.violations[0]
	if v.Message != bad || v.Sender != "jules" || v.Receiver != "Eddy" || v.Conversation != "c" || v.Table != "task-delegation" ||
		!v.Time.Equal(bad.Timestamp()) || len(v.Expected) == 0 || !strings.Contains(v.Error(), "TASK_REJECT is not legal here, expected") {
		t.Errorf("%+v: %v", v, v)
	}
}

// The tag of a partial result says whether it asks for input, so that a further request is legal.
func TestWatchTellsPartialResultsApartByTag(t *testing.T) {
	for name, c := range map[string]struct {
		first p.InformResult
		want  []string
	}{
		"asks for input":         {kit.Asking("more"), nil},
		"does not ask for input": {kit.Result(p.StatusPartial), []string{"initiator: TASK_REQUEST"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, watch.Options{})
			request := w.ask("c")
			w.answer(request, p.TaskAccept{})
			w.answer(request, c.first)
			w.sent(w.message("E", p.Envelope{ConversationID: "c", InReplyTo: "m3", Payload: kit.Task()}))
			w.want(watch.Counts{Conversations: 1, Messages: 4, Watching: 1}, c.want...)
		})
	}
}

// The messages of each case would break the table, but the watch cannot know that the table
// applies to them.
func TestWatchSkipsMessagesItCannotJudge(t *testing.T) {
	for name, c := range map[string]struct {
		say  func(*fixture)
		want watch.Counts
	}{
		"the opening act was not seen": {func(w *fixture) {
			w.sent(w.message("J", p.Envelope{ConversationID: "c", Protocol: "task-delegation", InReplyTo: "m", Payload: kit.Result(p.StatusSuccess)}))
		}, watch.Counts{Skipped: 1}},
		"a further round, and the opening act was not seen": {func(w *fixture) {
			w.sent(w.message("E", p.Envelope{ConversationID: "c", Protocol: "task-delegation", InReplyTo: "m", Payload: kit.Task()}))
		}, watch.Counts{Skipped: 1}},
		"no protocol": {func(w *fixture) {
			w.sent(w.message("E", p.Envelope{ConversationID: "c", Payload: kit.Task()}))
			w.sent(w.message("J", p.Envelope{ConversationID: "c", InReplyTo: "m", Payload: kit.Result(p.StatusSuccess)}))
		}, watch.Counts{}},
		"a protocol that is not in Options.Codons": {func(w *fixture) {
			w.sent(w.message("E", p.Envelope{ConversationID: "c", Protocol: "barter", Payload: kit.Task()}))
			w.sent(w.message("J", p.Envelope{ConversationID: "c", Protocol: "barter", InReplyTo: "m", Payload: kit.Result(p.StatusSuccess)}))
		}, watch.Counts{}},
		"to the sender itself": {func(w *fixture) {
			e := w.message("E", p.Envelope{ConversationID: "c", Protocol: "task-delegation", Payload: kit.Task()}).Envelope()
			e.Receiver = "eddy"
			m, err := p.New(e)
			if err != nil {
				w.t.Fatal(err)
			}
			w.sent(m)
			e.ID, e.Payload, e.Performative, e.InReplyTo = "answer", kit.Result(p.StatusSuccess), 0, string(e.ID)
			if m, err = p.New(e); err != nil {
				w.t.Fatal(err)
			}
			w.sent(m)
		}, watch.Counts{Skipped: 2}},
		"a broadcast": {func(w *fixture) {
			e := w.message("E", p.Envelope{ConversationID: "c", Protocol: "task-delegation", Payload: kit.Task()}).Envelope()
			e.Receiver = ""
			m, err := p.New(e)
			if err != nil {
				w.t.Fatal(err)
			}
			w.answer(w.sent(m), kit.Result(p.StatusSuccess))
		}, watch.Counts{Skipped: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, watch.Options{})
			c.say(w)
			w.want(c.want)
		})
	}
}

// The conversation of a message without a conversation id is found by its in_reply_to.
func TestWatchOfPeerWithoutConversationIDs(t *testing.T) {
	w := newFixture(t, watch.Options{})
	w.ask("c")
	w.sent(w.message("J", p.Envelope{InReplyTo: "c", Payload: p.TaskAccept{}}))
	w.sent(w.message("J", p.Envelope{InReplyTo: "m1", Payload: kit.Asking("more")}))
	w.sent(w.message("J", p.Envelope{InReplyTo: "m1", Payload: p.TaskReject{}}))
	w.want(watch.Counts{Conversations: 1, Messages: 4, Watching: 1}, "responder: TASK_REJECT")
}

func TestWatchOfReusedConversationIDs(t *testing.T) {
	w := newFixture(t, watch.Options{})
	for range 3 {
		request := w.ask("chat")
		w.answer(request, p.TaskAccept{})
		w.answer(request, kit.Result(p.StatusSuccess))
	}
	// A fourth refers to the third, as a reply in a chat does.
	w.answer(w.sent(w.message("E", p.Envelope{ConversationID: "chat", Protocol: "task-delegation", InReplyTo: "m9", Payload: kit.Task()})), p.TaskAccept{})
	// Jules asks something under the same name while that goes on, which no row has.
	w.sent(w.message("J", p.Envelope{ConversationID: "chat", Protocol: "whispering-wind", Payload: p.QueryCapabilities{Type: p.QuerySummary}}))
	w.want(watch.Counts{Conversations: 4, Messages: 13, Watching: 1}, "responder: QUERY_CAPABILITIES")
}

func TestWatchOfMutualRequestsUnderOneID(t *testing.T) {
	w := newFixture(t, watch.Options{})
	request := w.ask("c")
	w.answer(request, p.TaskAccept{})
	w.answer(request, kit.Result(p.StatusSuccess))
	back := w.sent(w.message("J", p.Envelope{ConversationID: "c", Protocol: "task-delegation", Payload: kit.Task()}))
	accept, err := back.ReplyFrom("Eddy", p.Stamp{ID: "a", Time: time.Unix(1, 0)}, 0, p.TaskAccept{})
	if err != nil {
		t.Fatal(err)
	}
	w.sent(accept)
	w.sent(request) // again
	w.want(watch.Counts{Conversations: 2, Messages: 7, Watching: 2})
}

func TestWatchOfDuplicates(t *testing.T) {
	w := newFixture(t, watch.Options{})
	request := w.ask("c")
	w.sent(request)
	accept := w.answer(request, p.TaskAccept{})
	w.sent(accept)
	w.sent(w.answer(request, kit.Result(p.StatusSuccess)))
	w.sent(accept) // a late copy: only the result is resent after the end
	w.want(watch.Counts{Conversations: 1, Messages: 7, Watching: 1})
}

// A refusal that the runtime gives on an agent's behalf is no violation.
func TestWatchAcceptsRefusalsOfTheRuntime(t *testing.T) {
	busy := &p.Refusal{Code: p.CodeBusy}
	reject := p.TaskReject{ReasonCode: p.CodeBusy}
	for name, c := range map[string]struct {
		refused bool
		said    int // the number of refusals that came as messages
		want    []string
	}{
		"the refusal came as a message": {refused: true, said: 1},
		"Send returned the refusal":     {refused: true},
		"the agent itself refuses, too": {refused: true, said: 2, want: []string{"responder: TASK_REJECT"}},
		"the agent itself refuses":      {said: 1, want: []string{"responder: TASK_REJECT"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, watch.Options{})
			request := w.ask("c")
			w.answer(request, p.TaskAccept{})
			w.sent(request)
			n := uint64(4)
			if c.refused {
				w.events.Publish(events.MessageRefused{Message: request, Refusal: busy})
			}
			for range c.said {
				w.answer(request, reject)
				n++
			}
			w.answer(request, kit.Result(p.StatusSuccess))
			w.want(watch.Counts{Conversations: 1, Messages: n, Watching: 1}, c.want...)
		})
	}
}

func TestWatchLeavesConversationsBeyondTheirLimit(t *testing.T) {
	w := newFixture(t, watch.Options{Messages: 3})
	request := w.ask("c")
	w.answer(request, p.TaskAccept{})
	w.answer(request, p.StatusUpdate{})
	for range 3 {
		w.answer(request, p.TaskReject{ReasonCode: p.CodeBusy})
	}
	w.sent(request) // begins nothing
	w.answer(request, kit.Result(p.StatusSuccess))
	w.want(watch.Counts{Conversations: 1, Messages: 3, Left: 1, Skipped: 5})
}

func TestWatchLeavesTheLongestIdle(t *testing.T) {
	w := newFixture(t, watch.Options{Conversations: 2})
	a, b := w.ask("a"), w.ask("b")
	w.answer(a, p.TaskAccept{})
	c := w.ask("c")                            // b is left
	w.answer(b, kit.Result(p.StatusSuccess))   // skipped
	w.sent(b)                                  // begins nothing
	w.answer(b, kit.Result(p.StatusSuccess))   // skipped
	w.answer(a, kit.Result(p.StatusSuccess))   //
	w.answer(c, kit.Result(p.StatusSuccess))   // without acceptance
	w.answer(w.ask("b"), p.TaskAccept{})       // another conversation named b; a is left
	w.answer(a, p.TaskReject{ReasonCode: "x"}) // skipped
	w.want(watch.Counts{Conversations: 4, Messages: 8, Skipped: 4, Left: 2, Watching: 2}, "responder: INFORM_RESULT")
}

// blocking is the content of a result that the watch has to encode. Its encoding waits
// until the channel is closed. A nil channel, as when the message is made, does not block.
type blocking struct{ release chan struct{} }

func (b *blocking) MarshalJSON() ([]byte, error) {
	if b.release != nil {
		<-b.release
	}
	return []byte("{}"), nil
}

// block publishes a message that breaks the table and blocks the watch until release is
// called.
func (w *fixture) block(id p.ConversationID) (release func()) {
	details := &blocking{}
	m := w.reply(w.ask(id), p.InformResult{Status: p.StatusPartial, Details: p.ContentOf(details)})
	details.release = make(chan struct{})
	w.sent(m)
	return func() { close(details.release) }
}

// A watch with a full queue drops messages, and gives up the conversations that they belong
// to.
func TestWatchDropsMessagesWhenItsQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, watch.Options{Queue: 2})
		c := w.ask("c")
		synctest.Wait()
		release := w.block("busy")
		synctest.Wait() // the watch handles it
		d, e := w.ask("d"), w.ask("e")
		for _, request := range []*p.Message{c, d} {
			w.answer(request, p.TaskAccept{}) // dropped
		}
		f := w.ask("f") // dropped
		release()
		synctest.Wait()
		for _, request := range []*p.Message{c, d} {
			w.answer(request, kit.Result(p.StatusSuccess)) // their acceptances were dropped
		}
		synctest.Wait()
		w.sent(f) // a copy of a dropped opening act begins no conversation
		synctest.Wait()
		w.answer(f, kit.Result(p.StatusSuccess)) // skipped
		w.answer(e, p.TaskAccept{})
		w.want(watch.Counts{Conversations: 4, Messages: 5, Skipped: 5, Left: 2, Dropped: 3, Watching: 2}, "responder: INFORM_RESULT")
	})
}

func TestStopIsIdempotent(t *testing.T) {
	w := newFixture(t, watch.Options{})
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
		if err := w.Stop(ended); err != nil { // a stopped watch does not wait
			t.Fatal(err)
		}
	}
	w.ask("d")
	if n := w.Counts(); n.Conversations != 1 || n.Dropped != 0 || events.Wants[events.MessageSent](&w.events) {
		t.Errorf("%+v", n)
	}
}

// Stop returns when its context ends, and counts the queued messages as dropped.
func TestStopEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, watch.Options{})
		release := w.block("c")
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
		release()
		if a, b := <-stopped, <-stopped; !errors.Is(a, why) || !errors.Is(b, why) {
			t.Errorf("%v, %v", a, b)
		}
		if n := w.Counts(); n.Conversations != 1 || n.Dropped != 1 {
			t.Errorf("the watch went on: %+v", n)
		}
	})
}

func TestInvalidOptions(t *testing.T) {
	known := library.Codons()
	namesake := codons.MustDefine(delegation.Codon.Definition)
	for want, o := range map[string]watch.Options{
		"watch: Options.Codons is empty":                                       {},
		"watch: Options.Codons[0] is nil":                                      {Codons: []*codons.Codon{nil}},
		`watch: Options.Codons has two codons with the name "task-delegation"`: {Codons: append(library.Codons(), namesake)},
		"watch: Options.Conversations is -1":                                   {Codons: known, Conversations: -1},
		"watch: Options.Messages is -1":                                        {Codons: known, Messages: -1},
		"watch: Options.Messages is 65, want 0 to 64":                          {Codons: known, Messages: watch.MaxMessages + 1},
		"watch: Options.Queue is -1":                                           {Codons: known, Queue: -1},
	} {
		if _, err := watch.New(&events.Stream{}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The same codon listed twice is no conflict.
func TestCodonListedTwice(t *testing.T) {
	w, err := watch.New(&events.Stream{}, watch.Options{Codons: []*codons.Codon{delegation.Codon, delegation.Codon}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Watches start and stop while messages are published.
func TestWatchesStartAndStopConcurrently(t *testing.T) {
	w := newFixture(t, watch.Options{})
	requests := make([]*p.Message, 50)
	for i := range requests {
		requests[i] = w.message("E", p.Envelope{Protocol: "task-delegation", Payload: kit.Task()})
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				other, err := watch.New(&w.events, watch.Options{Codons: library.Codons(), Queue: 4})
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
	w.want(watch.Counts{Conversations: 50, Messages: 50, Watching: 50})
}

// The receipt for a CANCEL and the result of a request are both an INFORM: in_reply_to tells
// them apart.
func TestWatchTellsReceiptsApartByInReplyTo(t *testing.T) {
	for name, c := range map[string]struct {
		about string
		want  []string
	}{
		"the CANCEL":  {about: "m2"},
		"the request": {about: "m1", want: []string{"responder: INFORM"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, watch.Options{})
			w.ask("c")
			w.sent(w.message("E", p.Envelope{ConversationID: "c", InReplyTo: "m1", Payload: p.Cancel{}}))
			w.sent(w.message("J", p.Envelope{ConversationID: "c", InReplyTo: c.about, Payload: p.Receipt{}}))
			w.want(watch.Counts{Conversations: 1, Messages: 3, Watching: 1}, c.want...)
		})
	}
}

// Either side may say NOT_UNDERSTOOD in the middle of a delegation.
func TestWatchAcceptsNotUnderstood(t *testing.T) {
	for name, from := range map[string]string{"the asker": "E", "the worker": "J"} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, watch.Options{})
			about := w.ask("c")
			if from == "E" {
				about = w.answer(about, p.TaskAccept{})
			}
			w.sent(w.message(from, p.Envelope{ConversationID: "c", InReplyTo: string(about.ID()), Payload: p.NotUnderstood{ReasonCode: p.CodeUnexpectedAct}}))
			if from == "E" {
				w.sent(w.message("J", p.Envelope{ConversationID: "c", InReplyTo: "m1", Payload: p.Failure{ErrorCode: p.CodeStillRunning}}))
			}
			w.want(watch.Counts{Conversations: 1, Messages: uint64(w.n), Watching: 1})
		})
	}
}
