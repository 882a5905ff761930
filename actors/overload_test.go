package actors

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/enginedispatcher"
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
				if r := b.push(request(t, time.Second, 0, normal), capacity, timely); r != 0 {
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
		if r := b.push(late, capacity, timely); r != 0 { // crowd-1 are queued
			t.Error(r)
		}
		if b.delay() != time.Second {
			t.Errorf("delay %v", b.delay())
		}
		for name, c := range map[string]struct {
			m     any
			until bound
			want  Reason
		}{
			"little time":   {late, timely, ReasonFull},
			"enough time":   {request(t, 0, 5*time.Second, normal), timely, 0},
			"no deadline":   {request(t, 0, 0, normal), timely, 0},
			"HIGH":          {request(t, 0, 3*time.Second, high), timely, 0},
			"exempt":        {late, unbounded, 0},
			"no request":    {&note{}, timely, 0},
			"an answer":     {answerTo(t, late), timely, 0},
			"begins one":    {&begin{beginner{late}}, timely, ReasonFull},
			"begins no one": {&begin{beginner{}}, timely, 0},
		} {
			if got := b.push(c.m, capacity, c.until); got != c.want {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
		time.Sleep(longestWait)
		if r := b.push(request(t, 0, 0, low), capacity, timely); r != ReasonFull {
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
		b.push(request(t, 0, 0, normal), 10*crowd, timely)
		b.claim() // one message, which is being handled
		for range crowd {
			b.push(request(t, 0, 0, normal), 10*crowd, timely)
		}
		time.Sleep(time.Second)
		if b.delay() != time.Second {
			t.Errorf("delay %v", b.delay())
		}
		if r := b.push(request(t, 0, 3*time.Second, normal), 10*crowd, timely); r != ReasonFull {
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

// lag has the queue of an idle pool seem to have stood still for so long.
func lag(t *testing.T, p *Pool, d time.Duration) {
	t.Helper()
	if enginedispatcher.Enabled {
		t.Skip("the engine's dispatcher has no pool whose queue could stand still")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wait.Popped(0, 1)
	if d > 0 {
		p.wait.Pushed(1000)
		time.Sleep(d)
	}
}

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
			r := new(ConversationActor).Foresee(t.Context(), s, request(t, 0, left, priority))
			if r != nil && (r.Code != performatives.CodeBusy || r.RetryAfter <= 0) {
				t.Errorf("%+v", r)
			}
			return r != nil
		}
		if foresee(time.Second, normal) {
			t.Error("an idle node refuses")
		}
		synctest.Wait() // a worker that takes a task from a short queue notes that there is no delay
		lag(t, s.pool, time.Second/4)
		for _, c := range []struct {
			left     time.Duration
			priority performatives.Priority
			want     bool
		}{{time.Second, normal, true}, {time.Second, low, true}, {time.Second, high, false}, {3 * time.Second, normal, false}, {0, normal, false}} {
			if got := foresee(c.left, c.priority); got != c.want {
				t.Errorf("the pool is late: %+v: %v", c, got)
			}
		}
		lag(t, s.pool, 0)
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

// TestForeseeSlowsDown asks in a loop.
func TestForeseeSlowsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystemFor(t)
		if _, err := s.Register("far", congested{}); err != nil {
			t.Fatal(err)
		}
		e := performatives.Envelope{ID: "m", Timestamp: time.Now(), Sender: "asker", Receiver: "far", Performative: performatives.ActRequest, Payload: performatives.Raw(`{}`)}
		ended, end := context.WithCancel(t.Context())
		end()
		for name, c := range map[string]struct {
			ctx    context.Context
			left   time.Duration
			lag    time.Duration
			refuse bool
			took   time.Duration
		}{
			"room":                           {t.Context(), 10 * time.Second, 0, false, 0},
			"a congested connection":         {t.Context(), 2 * time.Second, 0, true, 10 * time.Millisecond},
			"the caller has gone":            {ended, 2 * time.Second, 0, true, 0},
			"the node is a little behind":    {t.Context(), 10 * time.Second, 20 * time.Millisecond, false, 5 * time.Millisecond},
			"the node is behind for a while": {t.Context(), 10 * time.Second, time.Second, false, 250 * time.Millisecond},
		} {
			lag(t, s.pool, c.lag)
			e.ReplyBy = time.Now().Add(c.left)
			m, err := performatives.New(e)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			r := new(ConversationActor).Foresee(c.ctx, s, m)
			if took := time.Since(began); took != c.took || (r != nil) != c.refuse {
				t.Errorf("%s: %v after %v", name, r, took)
			}
			lag(t, s.pool, 0)
		}
	})
}

// congested is a destination that takes messages in after a second.
type congested struct{ sink }

func (congested) Wait() time.Duration { return time.Second }

// TestPause slows down whoever reads requests.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystemFor(t)
		self, err := s.Spawn(t.Context(), Spec{ID: "agent", Capacity: 1, New: func() Agent { return quietAgent{} }})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		to, _ := s.Find("agent")
		want := func(what string, want time.Duration) {
			t.Helper()
			m := request(t, 0, time.Second, normal)
			if got := s.Pause(m, to); got != want {
				t.Errorf("%s: %v", what, got)
			}
			for what, m := range map[string]*performatives.Message{"URGENT": request(t, 0, time.Second, performatives.Urgent), "an answer": answerTo(t, m)} {
				if got := s.Pause(m, to); got != 0 {
					t.Errorf("%s: %v", what, got)
				}
			}
		}
		want("nothing to do", 0)
		lag(t, s.pool, 60*time.Millisecond)
		want("the node is behind", 5*time.Millisecond)
		lag(t, s.pool, 0)
		self.NoteBusy()
		want("the agent is busy", time.Millisecond)
		began := time.Now()
		if busy := new(ConversationActor).Foresee(t.Context(), s, request(t, 0, time.Second, normal)); busy != nil || time.Since(began) != time.Millisecond {
			t.Errorf("a call of a busy agent waits for %v: %v", time.Since(began), busy)
		}
		time.Sleep(10 * time.Millisecond)
		want("it is not any more", 0)
		for full := false; !full; {
			full = s.Deliver("agent", request(t, 0, time.Second, normal)) != nil
		}
		want("its mailbox is full", time.Millisecond)
	})
}

// TestBandForesees estimates the wait in a band by the rate at which it is served.
func TestBandForesees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity = 10 * crowd
		var b band
		for range 3 * crowd {
			b.push(request(t, 0, 0, normal), capacity, timely)
		}
		if got := b.delay(); got != 0 {
			t.Errorf("a wait of %v at once", got)
		}
		b.claim()
		const each = 100 * time.Microsecond
		for range crowd {
			time.Sleep(each)
			b.pop(8)
		}
		n := time.Duration(b.queued + b.claimed)
		if got := b.delay(); got < n*each*9/10 || got > n*each*11/10 {
			t.Errorf("a wait of %v for %d messages", got, n)
		}
		if r := b.push(request(t, 0, 4*n*each/2, normal), capacity, timely); r != ReasonFull {
			t.Errorf("a request that would wait for half of its time: %v", r)
		}
		for range crowd + crowd/2 {
			b.pop(8)
		}
		if b.each != 0 || b.released != 0 {
			t.Errorf("the rate of a crowd that has gone: %+v", &b)
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
		stream := make(chan events.Overload, 10)
		sub := s.Events.Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindNodeOverload}})
		sub.Handle(func(r events.Record) { stream <- r.Event.(events.Overload) })
		defer sub.Close()
		for range 3 {
			s.gate.Refuse(time.Second)
		}
		for i, want := range []bool{true, false} {
			if e := <-stream; e.Refusing != want || e.Refused < uint64(1+2*i) {
				t.Errorf("%+v", e)
			}
		}
		synctest.Wait()
		if len(stream) > 0 {
			t.Error(fmt.Sprint("one more: ", <-stream))
		}
	})
}
