package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

func TestManyRequestsOnOneConnection(t *testing.T) {
	const callers = 50
	each := 200
	if racetest.Enabled { // the race detector is slow with so many goroutines
		each = 20
	}
	h := newHub(t, noPeerOptions)
	var held []*performatives.Message // all requests, until the last one has arrived
	create := always(scripted{receive: func(c *actors.Context, m *performatives.Message) {
		if held = append(held, m); len(held) < callers*each {
			return
		}
		rand.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
		for _, m := range held {
			if err := c.ReplyAs(m, performatives.ActInform, m.Payload()); err != nil {
				t.Error(err)
			}
		}
	}})
	if err := h.Spawn(patience.Context(t), "Jules", create, runtime.WithCapacity(callers*each)); err != nil {
		t.Fatal(err)
	}
	o := newOutpost(t, h, "out", withoutIntroduction)
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience.Time)
	defer cancel()
	var asking sync.WaitGroup
	for i := range callers {
		self, err := o.Client(patience.Context(t), performatives.AgentID(fmt.Sprint("caller", i)))
		if err != nil {
			t.Fatal(err)
		}
		for n := range each {
			question := message(t, self.ID(), "Jules", performatives.ActRequest, with(performatives.Raw(`{"n":`+strconv.Itoa(i*each+n)+`}`)))
			asking.Go(func() {
				answer, err := self.Ask(ctx, question)
				if err != nil || string(answer.Payload().(performatives.Raw)) != string(question.Payload().(performatives.Raw)) {
					t.Errorf("%s gets %v, %v", question.Payload(), answer, err)
				}
			})
		}
	}
	asking.Wait()
	if c := h.Counts(); c.Refused+c.DeadLetters != 0 {
		t.Errorf("the hub counts %+v", c)
	}
}

func TestSlowCallDoesNotDelayOthers(t *testing.T) {
	h := newHub(t, noPeerOptions)
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	h.spawn("Slow", returning(newCancellableWorker(started, ended)))
	h.spawn("Quick", always(scripted{receive: echo}))
	c := newCaller(t, h, nil)
	c.say(message(t, "Eddy", "Slow", performatives.ActTaskRequest, with(task("sleep"))))
	<-started
	for i := range 100 {
		c.say(message(t, "Eddy", "Quick", performatives.ActRequest))
		c.answer(i + 2) // after the acceptance
	}
	select {
	case why := <-ended:
		t.Errorf("the slow call is over: %v", why)
	default:
	}
}

// When a peer does not read, requests to it fail, and other agents are not affected.
func TestFullOutbox(t *testing.T) {
	h := newHub(t, noPeerOptions, func(o *wire.Options) { o.Limits.Outbox = 4 })
	h.spawn("Eliza", always(scripted{receive: echo}))
	release := make(chan struct{})
	c := &caller{t: t}
	c.Answer = func(_ *wire.Session, m *performatives.Message) error {
		if m.Performative() == performatives.ActRequest {
			<-release
		}
		return nil
	}
	var err error
	if c.session, c.cut, err = h.dial(nil, &c.Recorder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.cut)
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("read")))
	h.awaitVisible("Jules")
	self, err := h.Client(patience.Context(t), "asker")
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan error, 1000)
	for range cap(answers) {
		question := message(t, "asker", "Jules", performatives.ActRequest)
		go func() {
			answer, err := self.Ask(patience.Context(t), question)
			if err == nil && answer.AsRefusal() != nil {
				err = answer.AsRefusal()
			}
			answers <- err
		}()
	}
	for range cap(answers) - 20 { // the outbox, the writer and the connection hold a few
		if err := <-answers; !errors.Is(err, performatives.CodeBusy) {
			t.Fatalf("told %v", err)
		}
	}
	if _, err := self.Ask(patience.Context(t), message(t, "asker", "Eliza", performatives.ActRequest)); err != nil {
		t.Errorf("somebody else: %v", err)
	}
	close(release)
	c.cut()
	for range 20 {
		switch err := <-answers; {
		case errors.Is(err, performatives.CodeBusy), errors.Is(err, performatives.CodeStopped), errors.Is(err, performatives.CodeDisconnected):
		default:
			t.Fatalf("told %v", err)
		}
	}
}

// Each request gets exactly one reply, or fails at once and gets none, however the
// connections end.
func TestEveryQuestionIsAnsweredOnce(t *testing.T) {
	questions := 20_000
	if racetest.Enabled {
		questions = 2000
	}
	round := questions / 5
	h := newHub(t, noPeerOptions)
	answers := make([]atomic.Int32, questions)
	var left sync.WaitGroup
	number := func(id string) int {
		n, err := strconv.Atoi(id[1:])
		if err != nil {
			t.Error(err)
		}
		return n
	}
	asker := always(scripted{receive: func(_ *actors.Context, m *performatives.Message) {
		if answers[number(m.InReplyTo())].Add(1) == 1 {
			left.Done()
		}
	}})
	if err := h.Spawn(patience.Context(t), "asker", asker, runtime.WithCapacity(questions), runtime.Hidden()); err != nil {
		t.Fatal(err)
	}
	o := connected(t, h, "out", crew{"Jules": always(scripted{topics: []string{"x"}, receive: func(c *actors.Context, m *performatives.Message) {
		if rand.IntN(10) > 0 {
			echo(c, m)
		}
	}})})
	for i := range questions {
		left.Add(1)
		m := message(t, "asker", "Jules", performatives.ActRequest, func(e *performatives.Envelope) { e.ID = performatives.MessageID("q" + strconv.Itoa(i)) })
		if err := h.Send(m); err != nil {
			answers[i].Add(1)
			left.Done()
		}
		if i%round == round-1 {
			o.disconnect()
			h.awaitStopped("Jules", i/round+1)
			if err := o.up.Connect(patience.Context(t)); err != nil {
				t.Fatal(err)
			}
			h.awaitVisibleAgain("Jules", i/round+1)
		}
	}
	o.disconnect()
	done := make(chan struct{})
	go func() { left.Wait(); close(done) }()
	select {
	case <-done:
	case <-patience.Context(t).Done():
		t.Error("there are questions without an answer")
	}
	if err := h.Stop(patience.Context(t)); err != nil { // no further messages arrive
		t.Fatal(err)
	}
	for i := range answers {
		if n := answers[i].Load(); n != 1 {
			t.Errorf("question %d has %d answers", i, n)
		}
	}
}
