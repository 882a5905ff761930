package actors

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// numbered is an agent with the number of its value.
type numbered int

func (numbered) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// numbers is a protocol that records which values of an agent opened conversations and guarded
// them.
type numbers struct{ opened, guarded []int }

func (*numbers) Name() string                        { return "recording" }
func (*numbers) Opens(m *performatives.Message) bool { return m.Protocol() == "recording" }

func (p *numbers) Bind(self Self, agent Agent) Responder {
	return opening(func(m *performatives.Message) Conversation {
		p.opened = append(p.opened, int(agent.(numbered)))
		return &recording{self: self, key: Key{ID: m.ConversationID(), Peer: m.Sender()}}
	})
}

func (p *numbers) Guard(_ Self, agent Agent) Guard {
	return func(*performatives.Message) *performatives.Refusal {
		p.guarded = append(p.guarded, int(agent.(numbered)))
		return nil
	}
}

// opening is the Open of a [Responder].
type opening func(*performatives.Message) Conversation

func (o opening) Open(m *performatives.Message) Conversation { return o(m) }

// numberedSystem returns a system with agent "a", whose values are numbered from 1.
func numberedSystem(t *testing.T, p Protocol) (*System, Self) {
	t.Helper()
	s, err := NewSystem(Options{Protocols: []Protocol{p}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	a, err := s.Spawn(t.Context(), Spec{ID: "a", New: func() Agent { n++; return numbered(n) }})
	if err != nil {
		t.Fatal(err)
	}
	return s, a
}

// fail has an agent fail, and returns when it has restarted. It runs in a bubble.
func fail(a Self) {
	_ = a.Later(func(Agent) { panic("as the test wants it") })
	time.Sleep(time.Minute) // the delay of the restart
	synctest.Wait()
}

// After a restart the roles and the guards are those of the new value.
func TestRestartBindsRolesAndGuards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &numbers{}
		s, a := numberedSystem(t, p)
		deliverAll(t, s, recordedMessage(t, "c1", "m1", performatives.Normal))
		synctest.Wait()
		fail(a)
		deliverAll(t, s, recordedMessage(t, "c2", "m2", performatives.Normal))
		synctest.Wait()
		if want := []int{1, 2}; !slices.Equal(p.opened, want) || !slices.Equal(p.guarded, want) {
			t.Errorf("conversations were opened by the values %v and guarded by %v, want %v", p.opened, p.guarded, want)
		}
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// A restart ends the watches of the agent.
func TestRestartEndsWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := numberedSystem(t, &numbers{})
		if _, err := s.Spawn(t.Context(), Spec{ID: "b", New: func() Agent { return silent{} }}); err != nil {
			t.Fatal(err)
		}
		if err := a.Watch("b", func(Agent) { t.Error("the function of the former value is called") }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		fail(a)
		if err := errors.Join(s.StopAgent(t.Context(), "b"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// The end of a conversation of a former value does not end a later conversation of the same key,
// which began before that end was handled.
func TestEndOfFormerConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := numberedSystem(t, &numbers{})
		key := Key{ID: "c", Peer: "x", Initiator: true}
		former, later := &urgentTalk{recording{key: key, self: a}}, &urgentTalk{recording{key: key, self: a}}
		former.stop = func() { a.End(former, nil) }
		if err := a.Begin(former); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		held := make(chan struct{})
		_ = a.Later(func(Agent) { <-held; panic("as the test wants it") })
		synctest.Wait()
		if err := a.Begin(later); err != nil {
			t.Fatal(err)
		}
		close(held)
		time.Sleep(time.Minute) // the delay of the restart
		synctest.Wait()
		checkCalls(t, &former.recording, "start stop")
		checkCalls(t, &later.recording, "start")
		if n := s.Counts().Open; n != 1 {
			t.Errorf("%d conversations are open, want 1", n)
		}
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
		checkCalls(t, &later.recording, "start stop")
	})
}

// urgentTalk is a recording whose conversation has the urgent priority.
type urgentTalk struct{ recording }

func (*urgentTalk) Priority() performatives.Priority { return performatives.Urgent }

// A conversation begins under the key of one that has ended, although the agent has not handled
// that end yet: it handles the end first, whatever else it has to do.
func TestBeginAfterAnEndThatIsNotHandled(t *testing.T) {
	twoWorkers(t)
	synctest.Test(t, func(t *testing.T) {
		s, a := numberedSystem(t, &numbers{})
		key := Key{ID: "c", Peer: "x", Initiator: true}
		former, later := &urgentTalk{recording{key: key, self: a}}, &urgentTalk{recording{key: key, self: a}}
		former.receive = func(any) { a.End(former, nil) }
		if err := a.Begin(former); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		held := make(chan struct{})
		_ = a.Later(func(Agent) { <-held })
		synctest.Wait()
		open := -1
		_ = a.Later(func(Agent) { open = s.Counts().Open })
		if err := a.Begin(later); err != nil {
			t.Fatal(err)
		}
		former.Actor().Tell("end")
		synctest.Wait()
		close(held)
		synctest.Wait()
		checkCalls(t, &former.recording, "start end")
		checkCalls(t, &later.recording, "start")
		if open != 1 {
			t.Errorf("%d conversations were open when the agent went on, want only the later one", open)
		}
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// hooked is an agent that counts the calls of its hooks.
type hooked struct {
	silent
	started, stopped *int
}

func (h hooked) Start(*Context) error { *h.started++; return nil }
func (h hooked) Stop(*Context)        { *h.stopped++ }

// A restart stops the former value and starts a new one.
func TestRestartCallsTheHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, stopped := 0, 0
		s, err := NewSystem(Options{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.Spawn(t.Context(), Spec{ID: "a", New: func() Agent { return hooked{started: &started, stopped: &stopped} }})
		if err != nil {
			t.Fatal(err)
		}
		fail(a)
		if started != 2 || stopped != 1 {
			t.Errorf("after the restart: started %d times, stopped %d times, want 2 and 1", started, stopped)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if started != 2 || stopped != 2 {
			t.Errorf("after the stop: started %d times, stopped %d times, want 2 and 2", started, stopped)
		}
	})
}

// A decision about an agent's failure names the agent also where the agent has stopped before its
// supervisor gets the failure, as it may when the whole system stops.
func TestAgentOfAStoppedActor(t *testing.T) {
	s, err := NewSystem(Options{})
	if err != nil {
		t.Fatal(err)
	}
	const id performatives.AgentID = "Fragile$1"
	if _, err := s.Spawn(t.Context(), Spec{ID: id, New: func() Agent { return numbered(1) }}); err != nil {
		t.Fatal(err)
	}
	c, _ := s.cellAt(id)
	pid := c.pid.Load()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.agentOf(pid); got != id || s.cellOf(pid) != nil {
		t.Errorf("got %q, %v", got, s.cellOf(pid))
	}
	if got := s.agentOf(s.groups[""]); got != "" {
		t.Errorf("a group is agent %q", got)
	}
}

// What is for the actor of an agent that has stopped does not reach the next agent of that id.
func TestCellOfAnEarlierAgent(t *testing.T) {
	s, a := numberedSystem(t, &numbers{})
	pid := a.c.pid.Load()
	if err := s.StopAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Spawn(t.Context(), Spec{ID: "a", New: func() Agent { return numbered(1) }}); err != nil {
		t.Fatal(err)
	}
	if s.cellOf(pid) != nil {
		t.Error("the earlier actor has the cell of the next agent")
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// An agent that retires waits for the end of its last conversation, and no longer.
func TestRetireAwaitsConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := numberedSystem(t, &numbers{})
		c := &recording{key: Key{ID: "c", Peer: "x", Initiator: true}, self: a}
		c.receive = func(any) { a.End(c, nil) }
		if err := a.Begin(c); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		retired := make(chan error, 1)
		go func() {
			v, _, err := s.Retire(ctx, "a")
			if err == nil {
				v.Release(func(*performatives.Message) error { return nil })
			}
			retired <- err
		}()
		synctest.Wait()
		select {
		case err := <-retired:
			t.Errorf("it has retired with an open conversation: %v", err)
		default:
		}
		began := time.Now()
		c.Actor().Tell("end")
		if err := <-retired; err != nil || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		checkCalls(t, c, "start end")
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
