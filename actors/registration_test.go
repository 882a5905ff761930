package actors_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// staticAgent is an agent with one topic.
type staticAgent struct{}

func (staticAgent) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"at first"}}
}

func ids(s *actors.System) (all []performatives.AgentID) {
	for a := range s.Agents() {
		all = append(all, a.ID())
	}
	slices.Sort(all)
	return all
}

func TestAnnounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := actors.NewSystem(actors.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Stop(context.Background()) }()
		stream := s.Events.Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindAgentAnnounced}})
		self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return staticAgent{} }, Hidden: true})
		if err != nil {
			t.Fatal(err)
		}
		if self.Visible() || len(ids(s)) != 0 || self.Describe().Topics[0] != "at first" {
			t.Errorf("before Announce: %v, %+v", ids(s), self.Describe())
		}
		for _, topic := range []string{"then", "at last"} {
			self.Announce(performatives.Capabilities{Topics: []string{topic}})
			if !self.Visible() || len(ids(s)) != 1 || self.Describe().Topics[0] != topic {
				t.Errorf("after Announce: %v, %+v", ids(s), self.Describe())
			}
		}
		stream.Close()
		var last events.AgentAnnounced
		n := 0
		for r := range stream.C {
			n, last = n+1, r.Event.(events.AgentAnnounced)
		}
		if n != 2 || last.Agent != "a" || last.Capabilities.Topics[0] != "at last" {
			t.Errorf("%d events, the last is %+v", n, last)
		}
	})
}

// outbox is a destination that keeps the ids of the messages that it has taken.
type outbox struct {
	got  []performatives.MessageID
	full bool
	wait time.Duration
}

func (o *outbox) Deliver(m *performatives.Message) error {
	if o.full {
		return &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID()}
	}
	o.got = append(o.got, m.ID())
	return nil
}

func (o *outbox) Load() *actors.Load { return nil }

func (o *outbox) Wait() time.Duration { return o.wait }

func send(t *testing.T, s *actors.System, id performatives.MessageID, to performatives.AgentID) error {
	t.Helper()
	m, err := performatives.New(performatives.Envelope{
		ID: id, Performative: performatives.ActRequest, Sender: "s", Receiver: to, Timestamp: s.Stamp().Time,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Send(m)
}

func newSystem(t *testing.T) *actors.System {
	t.Helper()
	return newSystemOf(t, actors.Options{})
}

func newSystemOf(t *testing.T, o actors.Options) *actors.System {
	t.Helper()
	s, err := actors.NewSystem(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func TestRegister(t *testing.T) {
	s := newSystem(t)
	box := &outbox{}
	r, err := s.Register("Far", box)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []performatives.AgentID{"far", "", "a\n"} {
		if _, err := s.Register(id, box); err == nil || id == "far" && !errors.Is(err, actors.ErrExists) {
			t.Errorf("Register(%q) = %v", id, err)
		}
	}
	if _, err := s.Spawn(t.Context(), actors.Spec{ID: "FAR", New: func() actors.Agent { return staticAgent{} }}); !errors.Is(err, actors.ErrExists) {
		t.Errorf("Spawn under the id of a registered agent: %v", err)
	}
	if err := send(t, s, "1", "fAR"); err != nil || len(box.got) != 1 {
		t.Errorf("got %q, %v", box.got, err)
	}
	box.full = true
	if err := send(t, s, "2", "Far"); !errors.Is(err, performatives.CodeBusy) {
		t.Errorf("a full destination: %v", err)
	}
	if found, ok := s.Find("FAR"); !ok || found != r || found.Destination() != box {
		t.Errorf("Find = %v, %v", found, ok)
	}
	if _, ok := s.Lookup("Far"); ok {
		t.Error("Lookup has found an agent of another process")
	}
	r.Remove()
	r.Remove()
	if err := send(t, s, "3", "Far"); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("after Remove: %v", err)
	}
}

func TestRegistrationIsHiddenUntilAnnounced(t *testing.T) {
	s := newSystem(t)
	r, err := s.Register("Far", &outbox{})
	if err != nil {
		t.Fatal(err)
	}
	if len(ids(s)) != 0 || r.Visible() {
		t.Errorf("before Announce: %q", ids(s))
	}
	action := performatives.Capabilities{Actions: []performatives.Action{{Name: "dig"}}}
	for _, can := range []bool{true, false} {
		if can {
			r.Announce(action)
		} else {
			r.Announce(performatives.Capabilities{})
		}
		var diggers []performatives.AgentID
		for a := range s.WithAction("dig", "") {
			diggers = append(diggers, a.ID())
		}
		if (len(ids(s)) == 1) != can || (len(diggers) == 1) != can {
			t.Errorf("announced %v: agents %q, of the action %q", can, ids(s), diggers)
		}
	}
	r.Announce(action)
	r.Remove()
	for a := range s.WithAction("dig", "") {
		t.Errorf("%q has the action after its removal", a.ID())
	}
}

// A replaced entry hears nothing more, and its removal leaves its successor alone.
func TestReplace(t *testing.T) {
	s := newSystem(t)
	first, second := &outbox{}, &outbox{}
	old, err := s.Register("Far", first)
	if err != nil {
		t.Fatal(err)
	}
	old.Announce(performatives.Capabilities{Topics: []string{"old"}})
	r, ok := old.Replace("FAR", second)
	if !ok || r.Visible() || r.ID() != "FAR" {
		t.Fatalf("Replace = %v, %v", r, ok)
	}
	old.Remove()
	if _, ok := old.Replace("Far", first); ok {
		t.Error("an entry was replaced twice")
	}
	for _, to := range []performatives.AgentID{"Far", "FAR", "far"} {
		if err := send(t, s, performatives.MessageID(to), to); err != nil {
			t.Error(err)
		}
	}
	if len(first.got) != 0 || len(second.got) != 3 {
		t.Errorf("the old one got %q, the new one %q", first.got, second.got)
	}
	r.Remove()
	if _, ok := s.Find("Far"); ok {
		t.Error("found after its removal")
	}
}

// A watch of an agent of another process ends with its removal, and not at a restart of the
// watcher.
func TestWatchOfRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		r, err := s.Register("Far", &outbox{})
		if err != nil {
			t.Fatal(err)
		}
		self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return staticAgent{} }})
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for range 2 {
			if err := self.Watch("far", func(actors.Agent) { told++ }); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if told != 0 {
			t.Error("told before the removal")
		}
		r.Remove()
		synctest.Wait()
		if err := self.Watch("far", func(actors.Agent) { told++ }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if told != 3 {
			t.Errorf("told %d times", told)
		}
	})
}

func TestHasRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := actors.NewSystem(actors.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Stop(context.Background()) }()
		if s.HasRun("a") {
			t.Error("HasRun is true before Spawn")
		}
		if _, err := s.Spawn(t.Context(), actors.Spec{ID: "A", New: func() actors.Agent { return staticAgent{} }}); err != nil {
			t.Fatal(err)
		}
		if !s.HasRun("a") {
			t.Error("HasRun is false for a running agent")
		}
		if err := s.StopAgent(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if _, ok := s.Lookup("a"); ok || !s.HasRun("a") {
			t.Error("HasRun is false for a stopped agent")
		}
	})
}

// runner is an agent that notes each message under a name.
type runner struct {
	staticAgent
	name string
	got  chan string
}

func (r runner) Receive(_ *actors.Context, m *performatives.Message) {
	r.got <- r.name + string(m.ID())
}

// A message to an agent that was found goes to what has taken its place since, or is refused.
func TestPassTo(t *testing.T) {
	s, got := newSystem(t), make(chan string, 1)
	run := func(name string) *actors.Registration {
		t.Helper()
		if _, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return runner{name: name, got: got} }}); err != nil {
			t.Fatal(err)
		}
		r, _ := s.Find("a")
		return r
	}
	pass := func(r *actors.Registration, id performatives.MessageID) error {
		m, err := performatives.New(performatives.Envelope{ID: id, Performative: performatives.ActInform, Sender: "b", Receiver: "a", Timestamp: s.Stamp().Time, Payload: performatives.Raw{}})
		if err != nil {
			t.Fatal(err)
		}
		return s.PassTo(r, m)
	}
	first := run("first ")
	if err := pass(first, "1"); err != nil || <-got != "first 1" {
		t.Errorf("the agent does not get the message: %v", err)
	}
	if err := s.StopAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := pass(first, "2"); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("after the stop: %v", err)
	}
	run("second ")
	if err := pass(first, "3"); err != nil || <-got != "second 3" {
		t.Errorf("its successor does not get the message: %v", err)
	}
}

// elsewhere is a router of what is for no agent of the process. It notes what it gets.
type elsewhere struct{ got []string }

func (e *elsewhere) RouteTo(_, r *actors.Registration, m *performatives.Message) error {
	found := "unknown"
	if r != nil {
		found = string(r.ID())
	}
	e.got = append(e.got, string(m.Receiver())+" "+found)
	return nil
}

// Only messages that are for no agent of the process are left to Options.Remote, with the entry of
// their receiver.
func TestRemote(t *testing.T) {
	remote := &elsewhere{}
	s, got := newSystemOf(t, actors.Options{Remote: remote}), make(chan string, 1)
	if _, err := s.Spawn(t.Context(), actors.Spec{ID: "here", New: func() actors.Agent { return runner{got: got} }}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Register("There", &outbox{}); err != nil {
		t.Fatal(err)
	}
	send := func(to performatives.AgentID) {
		t.Helper()
		m, err := performatives.New(performatives.Envelope{ID: "1", Performative: performatives.ActInform, Sender: "b", Receiver: to, Timestamp: s.Stamp().Time, Payload: performatives.Raw{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(m); err != nil {
			t.Errorf("to %q: %v", to, err)
		}
	}
	send("HERE")
	<-got
	for _, to := range []performatives.AgentID{"there", "nowhere", ""} {
		send(to)
	}
	if err := s.StopAgent(t.Context(), "here"); err != nil {
		t.Fatal(err)
	}
	send("here")
	if want := []string{"there There", "nowhere unknown", " unknown", "here unknown"}; !slices.Equal(remote.got, want) {
		t.Errorf("got %q, want %q", remote.got, want)
	}
}
