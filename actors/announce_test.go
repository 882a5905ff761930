package actors_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/actors"
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
		events := s.Events.Subscribe(actors.SubscribeOptions{Kinds: []actors.Kind{actors.KindAgentAnnounced}})
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
		events.Close()
		var last actors.AgentAnnounced
		n := 0
		for r := range events.C {
			n, last = n+1, r.Event.(actors.AgentAnnounced)
		}
		if n != 2 || last.Agent != "a" || last.Capabilities.Topics[0] != "at last" {
			t.Errorf("%d events, the last is %+v", n, last)
		}
	})
}

// fakeRemoteAgent records the messages that it gets as a remote agent.
type fakeRemoteAgent struct {
	staticAgent
	got     []string
	answers bool
}

func (s *fakeRemoteAgent) Receive(_ *actors.Context, m *performatives.Message) {
	s.got = append(s.got, string(m.ID()))
}

func (s *fakeRemoteAgent) Answers(protocol string, _ *performatives.Message) bool {
	return s.answers && protocol == "taken"
}

// takingProtocol is a protocol that every agent answers without a conversation.
type takingProtocol struct{ got *[]string }

func (takingProtocol) Name() string { return "taken" }
func (takingProtocol) Opens(m *performatives.Message) bool {
	return m.Performative() == performatives.ActRequest
}
func (t takingProtocol) Bind(actors.Self, actors.Agent) actors.Responding { return t }
func (takingProtocol) Open(*performatives.Message) actors.Conversation    { panic("it is Taking") }
func (t takingProtocol) Take(m *performatives.Message)                    { *t.got = append(*t.got, string(m.ID())) }

func TestRemoteAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answered []string
		s, err := actors.NewSystem(actors.Options{Protocols: []actors.Protocol{takingProtocol{&answered}}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Stop(context.Background()) }()
		agent := &fakeRemoteAgent{}
		self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return agent }})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []performatives.MessageID{"passed on", "answered"} {
			m, err := performatives.New(performatives.Envelope{
				ID: id, Performative: performatives.ActRequest, Sender: "s", Receiver: "a", Timestamp: self.Stamp().Time,
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Send(m); err != nil {
				t.Fatal(err)
			}
			if err := self.Do(t.Context(), func(actors.Agent) { agent.answers = true }); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(agent.got, []string{"passed on"}) || !slices.Equal(answered, []string{"answered"}) {
			t.Errorf("passed on %q, answered %q", agent.got, answered)
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
