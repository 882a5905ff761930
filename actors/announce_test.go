package actors_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// quiet is an agent that says one thing of itself.
type quiet struct{}

func (quiet) Describe() performatives.Capabilities {
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
		var events []actors.AgentAnnounced
		defer s.Events.Listen(func(ev actors.Event) { events = append(events, ev.(actors.AgentAnnounced)) }, actors.About[actors.AgentAnnounced]())()
		self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return quiet{} }, Hidden: true})
		if err != nil {
			t.Fatal(err)
		}
		if self.Visible() || len(ids(s)) != 0 || self.Describe().Topics[0] != "at first" {
			t.Errorf("before: %v, %+v", ids(s), self.Describe())
		}
		for _, topic := range []string{"then", "at last"} {
			self.Announce(performatives.Capabilities{Topics: []string{topic}})
			if !self.Visible() || len(ids(s)) != 1 || self.Describe().Topics[0] != topic {
				t.Errorf("after: %v, %+v", ids(s), self.Describe())
			}
		}
		if len(events) != 2 || events[1].Agent != "a" || events[1].Capabilities.Topics[0] != "at last" {
			t.Errorf("told of %+v", events)
		}
	})
}

// standIn takes messages for somebody else, but for what it answers.
type standIn struct {
	quiet
	got     []string
	answers bool
}

func (s *standIn) Receive(_ *actors.Context, m *performatives.Message) {
	s.got = append(s.got, string(m.ID()))
}

func (s *standIn) Answers(protocol string, _ *performatives.Message) bool {
	return s.answers && protocol == "taken"
}

// taken is a protocol that every agent answers.
type taken struct{ got *[]string }

func (taken) Name() string { return "taken" }
func (taken) Opens(m *performatives.Message) bool {
	return m.Performative() == performatives.ActRequest
}
func (t taken) Bind(actors.Self, actors.Agent) actors.Responding { return t }
func (taken) Open(*performatives.Message) actors.Conversation    { panic("it is Taking") }
func (t taken) Take(m *performatives.Message)                    { *t.got = append(*t.got, string(m.ID())) }

func TestStandIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answered []string
		s, err := actors.NewSystem(actors.Options{Protocols: []actors.Protocol{taken{&answered}}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Stop(context.Background()) }()
		agent := &standIn{}
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

func TestKnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := actors.NewSystem(actors.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Stop(context.Background()) }()
		if s.Knew("a") {
			t.Error("before there was one")
		}
		if _, err := s.Spawn(t.Context(), actors.Spec{ID: "A", New: func() actors.Agent { return quiet{} }}); err != nil {
			t.Fatal(err)
		}
		if !s.Knew("a") {
			t.Error("one that runs is not known")
		}
		if err := s.StopAgent(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if _, ok := s.Lookup("a"); ok || !s.Knew("a") {
			t.Error("one that has stopped is not known")
		}
	})
}
