package systemtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// failures is a test whose failures a test expects.
type failures struct {
	testing.TB
	texts []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

// errFatal ends a test at its first fatal failure.
var errFatal = errors.New("fatal")

func (f *failures) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(errFatal)
}

// small is a world with two peers.
type small struct {
	*World
	t    *failures
	a, b *Peer
	stop func(context.Context) error
}

// say sends an INFORM of a peer.
func (s *small) say(from *Peer, to performatives.AgentID) *performatives.Message {
	return from.Send(performatives.Envelope{Receiver: to, Payload: performatives.Receipt{Text: "hello"}})
}

// failuresOf runs a test in a world, and returns what fails it.
func failuresOf(t *testing.T, test func(s *small)) string {
	t.Helper()
	f := &failures{TB: t}
	Bubble(t, func(t *testing.T) {
		w := New(f.Errorf)
		if err := w.Start(t.Context(), actors.Options{}); err != nil {
			t.Fatal(err)
		}
		s := &small{World: w, t: f, a: NewPeer(f), b: NewPeer(f), stop: w.Stop}
		for id, p := range map[performatives.AgentID]*Peer{"A": s.a, "B": s.b} {
			var err error
			if p.Self, err = w.Spawn(t.Context(), actors.Spec{ID: id, New: func() actors.Agent { return p }}); err != nil {
				t.Fatal(err)
			}
		}
		func() {
			defer func() {
				if r := recover(); r != nil && r != errFatal { //nolint:errorlint // it is the panic itself
					panic(r)
				}
			}()
			test(s)
		}()
		w.End(t.Context(), s.stop)
		if err := w.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return strings.Join(f.texts, "\n")
}

// TestReports has tests do something wrong, and expects the report.
func TestReports(t *testing.T) {
	for name, c := range map[string]struct {
		test  func(s *small)
		wants string // a part of the report; empty for none
	}{
		"nothing": {func(*small) {}, ""},
		"a dead letter": {func(s *small) {
			s.DeadLetter("Nobody", s.say(s.a, "B"), performatives.CodeUnknownAgent)
		}, "INFORM from A with {Text:hello Extra:map[]} for Nobody: agent_not_found"},
		"a dead letter at the end": {func(s *small) {
			m := s.say(s.a, "B")
			s.stop = func(ctx context.Context) error {
				s.DeadLetter("Nobody", m, performatives.CodeUnknownAgent)
				return s.Stop(ctx)
			}
		}, ""},
		"more dead letters at the end than the queue holds": {func(s *small) {
			m := s.say(s.a, "B")
			s.stop = func(ctx context.Context) error {
				for range eventQueue + 1 {
					s.DeadLetter("Nobody", m, performatives.CodeUnknownAgent)
				}
				return s.Stop(ctx)
			}
		}, ""},
		"more dead letters than the queue holds, which are allowed": {func(s *small) {
			s.Allow(DeadLetter)
			m := s.say(s.a, "B")
			for range eventQueue + 1 {
				s.DeadLetter("Nobody", m, performatives.CodeUnknownAgent)
			}
		}, ""},
		"more events than the queue holds": {func(s *small) {
			s.Allow(PayloadChanged)
			for range eventQueue + 1 {
				events.Publish(&s.Events, lifecycle.PayloadChanged{})
			}
		}, "1 events were lost"},
		"agents that go on": {func(s *small) {
			s.stop = func(context.Context) error { return nil }
		}, "after the end 2 agents, 0 conversations and 0 jobs are left"},
		"a stop that fails": {func(s *small) {
			s.stop = func(ctx context.Context) error { return errors.Join(s.Stop(ctx), errors.New("oh")) }
		}, "the system did not stop: oh"},
		"a loss that does not come": {func(s *small) {
			s.Net.Lose(performatives.ActInform, 2)
			s.say(s.a, "B")
		}, "the fault Lose(INFORM) met too few messages"},
		"no loss at all": {func(s *small) { s.Net.Lose(performatives.ActInform, -1) }, "the fault Lose(INFORM) met too few messages"},
		"losses that came": {func(s *small) {
			s.Net.Lose(performatives.ActInform, -1)
			s.say(s.a, "B")
			s.b.Silent()
		}, ""},
		"another act": {func(s *small) {
			s.say(s.a, "B")
			s.b.Expect(performatives.ActRequest)
		}, "B got INFORM from A with {Text:hello Extra:map[]}, want REQUEST"},
		"no message": {func(s *small) {
			began := time.Now()
			defer func() {
				if got := time.Since(began); got != Patience {
					s.t.TB.Errorf("the peer waited for %v", got)
				}
			}()
			s.b.Next()
		}, "B got nothing in 1h0m0s"},
		"a message": {func(s *small) {
			s.say(s.a, "B")
			s.b.Silent()
		}, "B got INFORM from A with {Text:hello Extra:map[]}, want nothing"},
		"more messages than the inbox holds": {func(s *small) {
			for range inboxCapacity + 1 {
				s.say(s.a, "B")
			}
			time.Sleep(time.Second)
		}, "B has 1024 messages that the test did not expect; INFORM is lost"},
		"a message that cannot be sent": {func(s *small) {
			s.a.Send(performatives.Envelope{Receiver: "B"})
		}, "A cannot send"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failuresOf(t, c.test); c.wants == "" && got != "" || !strings.Contains(got, c.wants) {
				t.Errorf("reported %q, want %q", got, c.wants)
			}
		})
	}
}

// TestFaults expects of each fault which messages it meets, and how often these arrive.
func TestFaults(t *testing.T) {
	inform := performatives.ActInform
	for name, c := range map[string]struct {
		fault Fault
		sent  []string // the way of each message, such as "A B"
		a, b  int      // how many each gets
	}{
		"all":            {Fault{Left: -1, Do: Lost}, []string{"A B", "B A"}, 0, 0},
		"of a sender":    {Fault{From: "A", Left: -1, Do: Lost}, []string{"A B", "B A"}, 1, 0},
		"to a receiver":  {Fault{To: "A", Left: -1, Do: Lost}, []string{"A B", "B A"}, 0, 1},
		"of an act":      {Fault{Act: inform, Left: -1, Do: Lost}, []string{"A B"}, 0, 0},
		"of another act": {Fault{Act: performatives.ActRequest, Left: -1, Do: Lost}, []string{"A B"}, 0, 1},
		"the first":      {Fault{Left: 1, Do: Lost}, []string{"A B", "A B", "A B"}, 0, 2},
		"by a condition": {Fault{If: func(m *performatives.Message) bool { return m.Sender() == "B" }, Left: -1, Do: Lost}, []string{"A B", "B A"}, 0, 1},
		"twice":          {Fault{From: "A", Left: -1, Do: Duplicated}, []string{"A B", "B A"}, 1, 2},
		"later":          {Fault{From: "A", Left: -1, Do: Delayed(time.Second)}, []string{"A B", "B A"}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := failuresOf(t, func(s *small) {
				s.Net.Set(c.fault)
				for _, way := range c.sent {
					from, to, _ := strings.Cut(way, " ")
					s.say(map[string]*Peer{"A": s.a, "B": s.b}[from], performatives.AgentID(to))
				}
				time.Sleep(time.Minute)
				if len(s.a.Got) != c.a || len(s.b.Got) != c.b {
					t.Errorf("A got %d and B %d, want %d and %d", len(s.a.Got), len(s.b.Got), c.a, c.b)
				}
			})
			if got != "" {
				t.Error(got)
			}
		})
	}
}

// TestLateRefusal delays a request for an agent that is not there: a refusal comes by a message.
func TestLateRefusal(t *testing.T) {
	got := failuresOf(t, func(s *small) {
		s.Net.Set(Fault{Left: -1, Do: Delayed(time.Second)})
		m := s.a.Send(performatives.Envelope{Performative: performatives.ActRequest, Receiver: "Nobody", Payload: performatives.Raw("{}")})
		if r := s.a.Next(); r.AsRefusal() == nil || !r.Answers(m) {
			t.Errorf("got %s", describe(r))
		}
	})
	if got != "" {
		t.Error(got)
	}
}

// TestTheFirstFaultCounts sets two faults, and takes the first away.
func TestTheFirstFaultCounts(t *testing.T) {
	got := failuresOf(t, func(s *small) {
		end := s.Net.Set(Fault{Left: -1, Do: Lost})
		s.Net.Set(Fault{Left: -1, Do: Duplicated})
		s.say(s.a, "B")
		s.b.Silent()
		end()
		s.say(s.a, "B")
		s.b.Expect(performatives.ActInform)
		s.b.Expect(performatives.ActInform)
		s.Net.Intercept(nil)
		s.say(s.a, "B")
		s.b.Expect(performatives.ActInform)
		s.b.Silent()
	})
	if got != "" {
		t.Error(got)
	}
}
