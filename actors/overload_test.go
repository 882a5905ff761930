package actors

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// request returns a request of that age, with so much time left.
func request(t testing.TB, age, left time.Duration, priority performatives.Priority) *performatives.Message {
	t.Helper()
	now := time.Now()
	e := performatives.Envelope{
		ID: "m", ConversationID: "c", Timestamp: now.Add(-age), Sender: "asker", Receiver: "agent", Priority: priority,
		Performative: performatives.ActRequest, Protocol: "request", Payload: performatives.Raw(`{}`),
	}
	if left != 0 {
		e.ReplyBy = now.Add(left)
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestBandRefusesWhatWouldWaitTooLong fills a band with messages of which the oldest has waited
// for a second.
func TestBandRefusesWhatWouldWaitTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity = 10 * crowd
		var b band
		fill := func(n int) {
			for range n {
				if r := b.push(request(t, time.Second, 0, normal), capacity, false); r != 0 {
					t.Fatal(r)
				}
			}
		}
		fill(crowd)
		if !b.claim() {
			t.Fatal("no claim")
		}
		b.pop(1)
		late := request(t, 0, 3*time.Second, normal)
		if r := b.push(late, capacity, false); r != 0 { // crowd-1 are queued
			t.Error(r)
		}
		if b.delay() != time.Second {
			t.Errorf("delay %v", b.delay())
		}
		for name, c := range map[string]struct {
			m      any
			exempt bool
			want   Reason
		}{
			"little time":   {late, false, ReasonFull},
			"enough time":   {request(t, 0, 5*time.Second, normal), false, 0},
			"no deadline":   {request(t, 0, 0, normal), false, 0},
			"HIGH":          {request(t, 0, 3*time.Second, high), false, 0},
			"exempt":        {late, true, 0},
			"no request":    {&note{}, false, 0},
			"an answer":     {answerTo(t, late), false, 0},
			"begins one":    {&begin{beginner{late}}, false, ReasonFull},
			"begins no one": {&begin{beginner{}}, false, 0},
		} {
			if got := b.push(c.m, capacity, c.exempt); got != c.want {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
		time.Sleep(longestWait)
		if r := b.push(request(t, 0, 0, low), capacity, false); r != ReasonFull {
			t.Errorf("without a deadline, after the longest wait: %v", r)
		}
	})
}

func answerTo(t *testing.T, m *performatives.Message) *performatives.Message {
	t.Helper()
	e := performatives.Envelope{
		ID: "a", ConversationID: "c", InReplyTo: string(m.ID()), Timestamp: time.Now(), Sender: "asker", Receiver: "agent",
		Performative: performatives.ActRequest, ReplyBy: m.ReplyBy(), Protocol: "request", Payload: performatives.Raw(`{}`),
	}
	a, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestStuckAgentHasADelay has an agent handle a single message while others come.
func TestStuckAgentHasADelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b band
		b.push(request(t, 0, 0, normal), 10*crowd, false)
		b.claim() // one message, which is being handled
		for range crowd {
			b.push(request(t, 0, 0, normal), 10*crowd, false)
		}
		time.Sleep(time.Second)
		if b.delay() != time.Second {
			t.Errorf("delay %v", b.delay())
		}
		if r := b.push(request(t, 0, 3*time.Second, normal), 10*crowd, false); r != ReasonFull {
			t.Errorf("a request that has no time: %v", r)
		}
	})
}

// beginner is a conversation with a request to send.
type beginner struct{ request *performatives.Message }

func (o beginner) Opening() *performatives.Message { return o.request }
func (beginner) Key() Key                          { return Key{} }
func (beginner) Actor() *ConversationActor         { return nil }
func (beginner) Start()                            {}
func (beginner) Receive(any)                       {}
func (beginner) Stop()                             {}

// TestDelayMeter measures one task at a time.
func TestDelayMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d delayMeter
		n := 0
		push := func(tasks int) {
			for range tasks {
				n++
				d.pushed(n)
			}
		}
		pop := func(tasks int) {
			for range tasks {
				d.popped(n)
				n--
			}
		}
		want := func(want time.Duration) {
			t.Helper()
			if got := d.delay(); got != want {
				t.Errorf("delay %v, want %v", got, want)
			}
		}
		push(shortQueue)
		time.Sleep(time.Second)
		want(0)
		push(2) // the first of them is measured
		time.Sleep(2 * time.Second)
		want(2 * time.Second)
		pop(shortQueue)
		push(shortQueue)
		time.Sleep(time.Second)
		pop(1)
		time.Sleep(time.Second)
		want(3 * time.Second) // until the next one
		push(1)
		time.Sleep(4 * time.Second)
		want(4 * time.Second)
		pop(n)
		want(4 * time.Second)
		push(1)
		pop(1)
		want(0)
	})
}

// TestPermitLeavesTheQueue ends the ctx of work that waits for a processor, and stops the system
// while other work waits.
func TestPermitLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewSystem(Options{})
		if err != nil {
			t.Fatal(err)
		}
		self, err := s.Spawn(t.Context(), Spec{ID: "agent", New: func() Agent { return quietAgent{} }})
		if err != nil {
			t.Fatal(err)
		}
		const tasks = 100
		ended := make(chan string, tasks)
		release := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		for i := range tasks {
			p := new(Permit)
			if busy := self.Admit(p, request(t, 0, time.Hour, normal), false, time.Time{}); busy != nil {
				t.Fatalf("%d: %v", i, busy)
			}
			p.Work(ctx, waiting{release, ended})
			defer p.Release()
		}
		queued := s.Counts().Queued
		if queued == 0 || s.Counts().Working != tasks {
			t.Fatalf("%+v", s.Counts())
		}
		cancel()
		for range queued {
			if got := <-ended; got != "left" {
				t.Errorf("it %s", got)
			}
		}
		close(release)
		for range tasks - queued {
			if got := <-ended; got != "ran" {
				t.Errorf("it %s", got)
			}
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if c := s.Counts(); c.Queued != 0 || c.Working != 0 {
			t.Errorf("%+v", c)
		}
	})
}

type waiting struct {
	release <-chan struct{}
	ended   chan<- string
}

func (w waiting) Run()  { <-w.release; w.ended <- "ran" }
func (w waiting) Left() { w.ended <- "left" }

type quietAgent struct{}

func (quietAgent) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// TestForesee asks what a request would meet.
func TestForesee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewSystem(Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop(context.Background()) //nolint:errcheck // nothing runs
		self, err := s.Spawn(t.Context(), Spec{ID: "agent", New: func() Agent { return quietAgent{} }})
		if err != nil {
			t.Fatal(err)
		}
		foresee := func(left time.Duration, priority performatives.Priority) bool {
			r := s.Foresee(request(t, 0, left, priority))
			if r != nil && (r.Code != performatives.CodeBusy || r.RetryAfter <= 0) {
				t.Errorf("%+v", r)
			}
			return r != nil
		}
		if foresee(time.Second, normal) {
			t.Error("an idle node refuses")
		}
		synctest.Wait() // a worker that takes a task from a short queue notes that there is no delay
		s.pool.wait.waited.Store(int64(time.Second / 4))
		for _, c := range []struct {
			left     time.Duration
			priority performatives.Priority
			want     bool
		}{{time.Second, normal, true}, {time.Second, low, true}, {time.Second, high, false}, {3 * time.Second, normal, false}, {0, normal, false}} {
			if got := foresee(c.left, c.priority); got != c.want {
				t.Errorf("the pool is late: %+v: %v", c, got)
			}
		}
		s.pool.wait.waited.Store(0)
		b := self.c.mailbox.newBand(normal.Band())
		b.mu.Lock()
		b.claimed, b.waits = crowd, time.Now().Add(-time.Second/4)
		b.mu.Unlock()
		if !foresee(time.Second, normal) || foresee(3*time.Second, normal) || foresee(time.Second, low) {
			t.Error("not by the wait in the mailbox")
		}
		b.mu.Lock()
		b.claimed = 0
		b.mu.Unlock()
		if c := s.Counts(); c.Overload != 3 || !c.Refusing {
			t.Errorf("%+v", c)
		}
	})
}

// TestOverloadIsPublished watches the events of a system that refuses, and then does not.
func TestOverloadIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewSystem(Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop(context.Background()) //nolint:errcheck // nothing runs
		events := make(chan Overload, 10)
		sub := s.Events.Subscribe(SubscribeOptions{Kinds: []Kind{KindNodeOverload}})
		sub.Handle(func(r Record) { events <- r.Event.(Overload) })
		defer sub.Close()
		for range 3 {
			s.gate.Refuse(time.Second)
		}
		for i, want := range []bool{true, false} {
			if e := <-events; e.Refusing != want || e.Refused < uint64(1+2*i) {
				t.Errorf("%+v", e)
			}
		}
		synctest.Wait()
		if len(events) > 0 {
			t.Error(fmt.Sprint("one more: ", <-events))
		}
	})
}
