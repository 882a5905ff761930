package actors

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// recording is a conversation that records its calls.
type recording struct {
	actor   ConversationActor
	key     Key
	self    Self
	calls   []string
	start   func()    // nil for none
	receive func(any) // nil for none
	stop    func()    // nil for none
}

func (c *recording) Key() Key                  { return c.key }
func (c *recording) Actor() *ConversationActor { return &c.actor }

func (c *recording) Start() {
	c.calls = append(c.calls, "start")
	if c.start != nil {
		c.start()
	}
}

func (c *recording) Receive(message any) {
	text := fmt.Sprint(message)
	if m, ok := message.(*performatives.Message); ok {
		text = string(m.ID())
	}
	if p, ok := message.(*PeerLost); ok {
		if !p.Reached() {
			return
		}
		text = "lost"
	}
	c.calls = append(c.calls, text)
	if c.receive != nil {
		c.receive(message)
	}
}

func (c *recording) Stop() {
	c.calls = append(c.calls, "stop")
	if c.stop != nil {
		c.stop()
	}
}

// recordings is a protocol whose conversations are set beforehand.
type recordings struct {
	self Self
	next map[performatives.ConversationID]*recording
}

func (*recordings) Name() string                        { return "recording" }
func (*recordings) Opens(m *performatives.Message) bool { return m.Protocol() == "recording" }

func (p *recordings) Bind(self Self, _ Agent) Responder {
	p.self = self
	return p
}

func (p *recordings) Open(m *performatives.Message) Conversation {
	c := p.next[m.ConversationID()]
	c.key, c.self = Key{ID: m.ConversationID(), Peer: m.Sender()}, p.self
	return c
}

type silent struct{}

func (silent) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// recordingSystem returns a system with one agent, "a", that answers conversations. It is stopped
// before the test ends.
func recordingSystem(t *testing.T, o Options, all map[performatives.ConversationID]*recording) (*System, Self) {
	t.Helper()
	o.Protocols = []Protocol{&recordings{next: all}}
	s, err := NewSystem(o)
	if err != nil {
		t.Fatal(err)
	}
	self, err := s.Spawn(t.Context(), Spec{ID: "a", New: func() Agent { return silent{} }})
	if err != nil {
		t.Fatal(err)
	}
	return s, self
}

// twoWorkers has the dispatcher run two actors at a time also on one processor, for a test that
// holds one of them.
func twoWorkers(t *testing.T) {
	t.Helper()
	if before := goruntime.GOMAXPROCS(0); before < 2 {
		goruntime.GOMAXPROCS(2)
		t.Cleanup(func() { goruntime.GOMAXPROCS(before) })
	}
}

// recordedMessage is a REQUEST of a conversation from "x" to "a".
func recordedMessage(t *testing.T, conversation, id string, p performatives.Priority) *performatives.Message {
	t.Helper()
	m, err := performatives.New(performatives.Envelope{
		ID: performatives.MessageID(id), Performative: performatives.ActRequest, Sender: "x", Receiver: "a", Protocol: "recording",
		ConversationID: performatives.ConversationID(conversation), Priority: p, Timestamp: time.Unix(1, 0),
		Payload: performatives.Raw(`{"x":"` + strings.Repeat("x", 3<<10) + `"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// deliverAll delivers messages to agent "a".
func deliverAll(t *testing.T, s *System, all ...*performatives.Message) {
	t.Helper()
	for _, m := range all {
		if err := s.Deliver("a", m); err != nil {
			t.Fatal(err)
		}
	}
}

func checkCalls(t *testing.T, c *recording, want string) {
	t.Helper()
	if got := strings.Join(c.calls, " "); got != want {
		t.Errorf("calls %q, want %q", got, want)
	}
}

// abandoning is a recording that records why it was abandoned.
type abandoning struct {
	recording
	causes []error
}

func (c *abandoning) Abandon(cause error) { c.causes = append(c.causes, cause) }

// A conversation that waits for its turn while the agent stops is abandoned, so that its caller
// does not wait for ever.
func TestConversationBegunBeforeTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, self := recordingSystem(t, Options{}, nil)
		held := make(chan struct{})
		if err := self.Later(func(Agent) { <-held }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c := &abandoning{recording: recording{key: Key{ID: "c", Peer: "x", Initiator: true}}}
		if err := self.Begin(c); err != nil {
			t.Fatal(err)
		}
		stopped := make(chan error)
		go func() { stopped <- s.StopAgent(t.Context(), "a") }()
		synctest.Wait()
		close(held)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		checkCalls(t, &c.recording, "")
		if len(c.causes) != 1 || !errors.Is(c.causes[0], ErrStopped) {
			t.Errorf("abandoned for %v, want once for %v", c.causes, ErrStopped)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A request that an agent has not received by its stop is not taken on: the next run of the agent
// takes it when it comes again.
func TestRequestOfAConversationThatStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &recording{}, &recording{}
		all := map[performatives.ConversationID]*recording{"c": first}
		s, _ := recordingSystem(t, Options{}, all)
		held := make(chan struct{})
		first.start = func() { <-held }
		first.stop = func() { first.self.End(first, nil) }
		second.stop = func() { second.self.End(second, nil) }
		request := recordedMessage(t, "c", "m", performatives.Normal)
		deliverAll(t, s, request)
		synctest.Wait()
		stopped := make(chan error)
		go func() { stopped <- s.StopAgent(t.Context(), "a") }()
		time.Sleep(time.Second) // another worker takes the place of a single one
		close(held)
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		checkCalls(t, first, "start stop")
		all["c"] = second
		if _, err := s.Spawn(t.Context(), Spec{ID: "a", New: func() Agent { return silent{} }}); err != nil {
			t.Fatal(err)
		}
		deliverAll(t, s, request)
		synctest.Wait()
		checkCalls(t, second, "start m")
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// The messages of a conversation are served like those of a mailbox: by band, and in order
// within one.
func TestConversationServesBands(t *testing.T) {
	twoWorkers(t)
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		c := &recording{receive: func(m any) {
			if p, ok := m.(*performatives.Message); ok && p.ID() == "first" {
				<-held
			}
		}}
		s, _ := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"c": c})
		c.actor.Tell("before it has begun")
		deliverAll(t, s, recordedMessage(t, "c", "first", performatives.Normal))
		synctest.Wait()
		deliverAll(t, s,
			recordedMessage(t, "c", "low", performatives.Low), recordedMessage(t, "c", "normal-1", performatives.Normal),
			recordedMessage(t, "c", "normal-2", performatives.Normal), recordedMessage(t, "c", "urgent", performatives.Urgent))
		synctest.Wait()
		c.actor.Tell("told")
		c.actor.Tell(bandMessage{"tick", performatives.High})
		synctest.Wait()
		close(held)
		synctest.Wait()
		checkCalls(t, c, "start first urgent tick normal-1 normal-2 told low")
		if err := s.StopAgent(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A conversation's mailbox is bounded as an agent's is, except for what the conversation is told by
// its own side.
func TestConversationRefusesWhatExceedsItsBounds(t *testing.T) {
	twoWorkers(t)
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		c := &recording{}
		c.receive = func(any) { <-held }
		s, _ := recordingSystem(t, Options{Capacity: 8, LongBytes: 4 << 10}, map[performatives.ConversationID]*recording{"c": c})
		deliverAll(t, s, recordedMessage(t, "c", "first", performatives.Normal))
		synctest.Wait()
		long := func(i int) *performatives.Message {
			m := recordedMessage(t, "c", fmt.Sprint("long", i), performatives.High)
			m.Weigh()
			return m
		}
		var want []string
		for i := range 10 {
			deliverAll(t, s, recordedMessage(t, "c", fmt.Sprint("m", i), performatives.Normal))
			synctest.Wait() // the agent's own mailbox is empty
			if i < 8 {
				want = append(want, fmt.Sprint("m", i))
			}
		}
		for i := range 3 {
			deliverAll(t, s, long(i))
			synctest.Wait()
		}
		c.actor.Tell("told")
		if n := s.Counts().Refused; n != 4 {
			t.Errorf("%d messages are refused, want two in excess of the capacity and two of the long ones", n)
		}
		close(held)
		synctest.Wait()
		checkCalls(t, c, "start first long0 "+strings.Join(want, " ")+" told")
		deliverAll(t, s, long(3)) // there is room again
		synctest.Wait()
		if last := c.calls[len(c.calls)-1]; last != "long3" {
			t.Errorf("the last call is %s", last)
		}
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// A full mailbox has room for one more message of each of the agent's conversations, but not for
// further requests.
func TestFullMailboxHasRoomForConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := map[performatives.ConversationID]*recording{"c1": {}, "c2": {}}
		s, self := recordingSystem(t, Options{Capacity: 8}, all)
		for id := range all {
			deliverAll(t, s, recordedMessage(t, string(id), "open "+string(id), performatives.Normal))
		}
		synctest.Wait()
		held := make(chan struct{})
		if err := self.Later(func(Agent) { <-held }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		related := func(id string) *performatives.Message {
			m, err := recordedMessage(t, "c1", id, performatives.Normal).With(func(e *performatives.Envelope) { e.InReplyTo = "open c1" })
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		for i := range 8 {
			deliverAll(t, s, recordedMessage(t, "c2", fmt.Sprint("m", i), performatives.Normal))
		}
		if s.Deliver("a", recordedMessage(t, "c2", "m8", performatives.Normal)) == nil {
			t.Error("a request is taken in excess of the capacity")
		}
		deliverAll(t, s, related("r1"), related("r2"))
		if s.Deliver("a", related("r3")) == nil {
			t.Error("there is room for more messages than conversations")
		}
		weighed := related("r4")
		weighed.Weigh()
		if s.Deliver("a", weighed) == nil {
			t.Error("there is room for a long message from outside")
		}
		close(held)
		synctest.Wait()
		checkCalls(t, all["c1"], "start open c1 r1 r2")
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// A conversation that fails is stopped and gone, its supervision is published, and a message that
// it has not read opens the next one. The same applies to runtime.Goexit.
func TestConversationFails(t *testing.T) {
	for name, fails := range map[string]func(){"panic": func() { panic("as the test wants it") }, "Goexit": goruntime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				held := make(chan struct{})
				first, second := &recording{}, &recording{}
				all := map[performatives.ConversationID]*recording{"c": first}
				first.receive = func(any) {
					<-held
					all["c"] = second // the agent waits
					fails()
				}
				s, _ := recordingSystem(t, Options{}, all)
				sub := s.Events.Subscribe(events.SubscribeOptions{Capacity: 100, Kinds: []events.Kind{events.KindSupervisionDecided, events.KindMessageRefused}})
				defer sub.Close()
				deliverAll(t, s, recordedMessage(t, "c", "m1", performatives.Normal), recordedMessage(t, "c", "m2", performatives.Normal))
				synctest.Wait()
				close(held)
				synctest.Wait()
				checkCalls(t, first, "start m1 stop")
				checkCalls(t, second, "start m2")
				if e, ok := (<-sub.C).Event.(events.MessageRefused); !ok || e.Message.ID() != "m1" || e.Refusal.Code != performatives.CodeInternal {
					t.Errorf("got %+v", e)
				}
				e, _ := (<-sub.C).Event.(events.Supervised)
				if e.Agent != "a" || e.Directive != actor.StopDirective || e.Reason == nil || !strings.HasSuffix(e.Child.GetId(), "/c") || len(e.Stack) == 0 {
					t.Errorf("got %+v", e)
				}
				if n := s.Counts().Open; n != 1 {
					t.Errorf("%d conversations are open, want the second", n)
				}
				if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
					t.Error(err)
				}
				checkCalls(t, second, "start m2 stop")
			})
		})
	}
}

// An agent stops after the last turn of its last conversation, also of one that is over already.
// No message vanishes.
func TestAgentWaitsForItsConversations(t *testing.T) {
	for name, over := range map[string]bool{"open": false, "over": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				held := make(chan struct{})
				c := &recording{}
				c.receive = func(any) {
					if over {
						c.self.End(c, nil)
					}
					<-held
				}
				s, self := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"c": c, "idle": {}})
				deliverAll(t, s, recordedMessage(t, "idle", "i", performatives.Normal), recordedMessage(t, "c", "m1", performatives.Normal))
				synctest.Wait()
				if !over { // a later message would open a conversation
					deliverAll(t, s, recordedMessage(t, "c", "m2", performatives.Normal))
					synctest.Wait()
				}
				stopped := atomic.Bool{}
				self.AfterStop(func() { stopped.Store(true) })
				done := make(chan error)
				go func() { done <- s.StopAgent(context.Background(), "a") }()
				synctest.Wait()
				if stopped.Load() {
					t.Error("the agent has stopped before its conversation")
				}
				close(held)
				if err := <-done; err != nil {
					t.Error(err)
				}
				want := map[bool]string{true: "start m1", false: "start m1 stop"}[over]
				checkCalls(t, c, want)
				if n := s.Counts(); n.Refused != map[bool]uint64{true: 0, false: 1}[over] || n.Open != 0 {
					t.Errorf("got %+v", n)
				}
				if err := s.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// An agent restarts after its conversations have stopped.
func TestRestartWaitsForConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		c := &recording{stop: func() { <-held }}
		s, self := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"c": c})
		deliverAll(t, s, recordedMessage(t, "c", "m1", performatives.Normal))
		synctest.Wait()
		_ = self.Later(func(Agent) { panic("as the test wants it") })
		restarted := false
		_ = self.Later(func(Agent) { restarted = true })
		time.Sleep(time.Minute) // the delay of the restart
		synctest.Wait()
		if restarted {
			t.Error("the agent handles messages before its conversation has stopped")
		}
		close(held)
		synctest.Wait()
		if !restarted {
			t.Error("the agent has not restarted")
		}
		checkCalls(t, c, "start m1 stop")
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// An agent that is stopped while its restart waits for a conversation stops after that
// conversation.
func TestStopDuringRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		c := &recording{stop: func() { <-held }}
		s, self := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"c": c})
		deliverAll(t, s, recordedMessage(t, "c", "m1", performatives.Normal))
		synctest.Wait()
		_ = self.Later(func(Agent) { panic("as the test wants it") })
		time.Sleep(time.Minute) // the delay of the restart
		done := make(chan error)
		go func() { done <- s.StopAgent(t.Context(), "a") }()
		synctest.Wait()
		close(held)
		if err := <-done; err != nil {
			t.Error(err)
		}
		checkCalls(t, c, "start m1 stop")
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Goexit and a panic while stopping end the conversation all the same.
func TestConversationFailsToStop(t *testing.T) {
	for name, fails := range map[string]func(){"panic": func() { panic("as the test wants it") }, "Goexit": goruntime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &recording{stop: fails}
				s, _ := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"c": c})
				deliverAll(t, s, recordedMessage(t, "c", "m1", performatives.Normal))
				synctest.Wait()
				if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
					t.Error(err)
				}
				checkCalls(t, c, "start m1 stop")
			})
		})
	}
}

// A dispatcher's entry of an earlier turn serves nothing while another turn runs.
func TestStaleEntryServesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		c := &recording{receive: func(m any) {
			if m.(*performatives.Message).ID() == "m1" { //nolint:forcetypeassert // nothing else is sent
				<-held
			}
		}}
		s, _ := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"c": c})
		deliverAll(t, s, recordedMessage(t, "c", "m1", performatives.Normal))
		synctest.Wait()
		deliverAll(t, s, recordedMessage(t, "c", "m2", performatives.Normal))
		synctest.Wait()
		c.actor.run(false)
		checkCalls(t, c, "start m1")
		close(held)
		synctest.Wait()
		checkCalls(t, c, "start m1 m2")
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// A conversation yields to others after the throughput of the dispatcher, and an urgent message
// moves a scheduled conversation ahead of them.
func TestConversationTakesTurns(t *testing.T) {
	for i := range dispatchers(nil) {
		synctest.Test(t, func(t *testing.T) {
			pool := NewPool(PoolOptions{Workers: 1, Throughput: 2, Stall: 1 << 60})
			testTurns(t, pool, dispatchers(pool)[i])
		})
	}
}

func testTurns(t *testing.T, pool *Pool, d actor.Dispatcher) {
	t.Helper()
	var served []string
	all := map[performatives.ConversationID]*recording{}
	for _, id := range []performatives.ConversationID{"c1", "c2", "c3"} {
		all[id] = &recording{receive: func(m any) { served = append(served, fmt.Sprint(m)) }}
	}
	s, _ := recordingSystem(t, Options{Dispatcher: d}, all)
	for id := range all {
		deliverAll(t, s, recordedMessage(t, string(id), "open "+string(id), performatives.Normal))
	}
	synctest.Wait()
	served = nil
	held := make(chan struct{})
	pool.Schedule(func() { <-held })
	synctest.Wait()
	for i := range 3 {
		all["c1"].actor.Tell(fmt.Sprint("c1-", i))
	}
	all["c2"].actor.Tell("c2")
	all["c3"].actor.Tell("c3")
	all["c3"].actor.Tell(bandMessage{"c3!", performatives.Urgent})
	close(held)
	synctest.Wait()
	if want := []string{"c3!", "c3", "c1-0", "c1-1", "c2", "c1-2"}; !slices.Equal(served, want) {
		t.Errorf("%T: served %q, want %q", d, served, want)
	}
	if n := pool.queue.n + pool.express.n; n != 0 {
		t.Errorf("%T: %d entries are left", d, n)
	}
	if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context()), pool.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

// The message that opens a conversation is queued in its own band.
func TestOpeningMessageHasItsBand(t *testing.T) {
	for priority, want := range map[performatives.Priority]string{
		performatives.Low: "start normal m1", performatives.High: "start m1 normal", performatives.Urgent: "start m1 normal",
	} {
		synctest.Test(t, func(t *testing.T) {
			c := new(recording)
			c.start = func() { c.actor.Tell("normal") }
			s, _ := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"c": c})
			deliverAll(t, s, recordedMessage(t, "c", "m1", priority))
			synctest.Wait()
			checkCalls(t, c, want)
			if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}

// An entry of an earlier turn, which an urgent one has overtaken, serves in place of a further one.
func TestEachQueueHasAConversationOnce(t *testing.T) {
	for throughput := range 3 { // the urgent turn ends by that, or has no more to do
		synctest.Test(t, func(t *testing.T) {
			c, held, entries := &recording{}, make(chan struct{}), int32(0)
			pool := NewPool(PoolOptions{Workers: 1, Throughput: 1 + throughput, Stall: 1 << 60})
			s, _ := recordingSystem(t, Options{Dispatcher: pool}, map[performatives.ConversationID]*recording{"c": c})
			deliverAll(t, s, recordedMessage(t, "c", "m1", performatives.Normal))
			synctest.Wait()
			pool.Schedule(func() { <-held })
			synctest.Wait()
			c.actor.Tell("second")
			c.actor.Tell(bandMessage{"first", performatives.Urgent})
			pool.ScheduleFirst(func() {
				c.actor.Tell("third")
				pool.mu.Lock()
				defer pool.mu.Unlock()
				entries = pool.queue.n + pool.express.n
			})
			close(held)
			synctest.Wait()
			c.actor.Tell(bandMessage{"fourth", performatives.Urgent})
			synctest.Wait()
			checkCalls(t, c, "start m1 first second third fourth")
			if entries != 1 {
				t.Errorf("throughput %d: the queues have the conversation %d times", 1+throughput, entries)
			}
			if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context()), pool.Close(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}

// The first turn of an urgent conversation comes before those of others, in both roles.
func TestUrgentConversationBeginsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served []string
		all := map[performatives.ConversationID]*recording{}
		for _, id := range []performatives.ConversationID{"ordinary", "answered", "asked"} {
			serve := func() { served = append(served, string(id)) }
			all[id] = &recording{receive: func(any) { serve() }, start: serve, key: Key{ID: id, Peer: "x", Initiator: true}}
		}
		all["ordinary"].start, all["answered"].start = nil, nil
		pool := NewPool(PoolOptions{Workers: 1, Stall: 1 << 60})
		s, self := recordingSystem(t, Options{Dispatcher: pool}, all)
		deliverAll(t, s, recordedMessage(t, "ordinary", "m1", performatives.Normal))
		synctest.Wait()
		served = nil
		held := make(chan struct{})
		pool.Schedule(func() { <-held })
		synctest.Wait()
		all["ordinary"].actor.Tell("next")
		if err := self.Begin(urgentConversation{all["asked"]}); err != nil {
			t.Error(err)
		}
		deliverAll(t, s, recordedMessage(t, "answered", "m2", performatives.Urgent))
		close(held)
		synctest.Wait()
		if want := []string{"asked", "answered", "ordinary"}; !slices.Equal(served, want) {
			t.Errorf("served %q, want %q", served, want)
		}
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context()), pool.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// A conversation that its caller still has keeps no other conversation of the same id.
func TestRemovedConversationKeepsNoOther(t *testing.T) {
	all := new(conversations)
	first, second := Key{ID: "c", Peer: "a"}, Key{ID: "c", Peer: "b"}
	all.add(&entry{key: first})
	all.add(&entry{key: second})
	if e := all.remove(second); e == nil || e.next != nil || all.find(first) == nil {
		t.Errorf("removed %+v of %v", e, all.byID)
	}
}

// A conversation that has ended keeps no entry of its peer, which may be an agent that stops.
func TestEndedConversationKeepsNoPeer(t *testing.T) {
	for name, inTurn := range map[string]bool{"in its turn": true, "in between": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &recording{key: Key{ID: "c", Peer: "a", Initiator: true}}
				s, self := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"c": c})
				c.start = func() {
					m := recordedMessage(t, "other", "m", performatives.Normal).Readdressed("a", "a")
					if err := c.actor.Send(m); err != nil || c.actor.peer == nil {
						t.Errorf("its message goes to %v: %v", c.actor.peer, err)
					}
					if inTurn {
						self.End(c, nil)
					}
				}
				if err := self.Begin(c); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				self.End(c, nil)
				synctest.Wait()
				if c.actor.peer != nil {
					t.Errorf("it keeps %v", c.actor.peer.ID())
				}
				if err := s.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
