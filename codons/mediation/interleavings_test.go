package mediation_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// choices enumerates sequences of choices: it replays a prefix, then takes the first choice of
// each, and computes the next prefix.
type choices struct {
	taken, of []int
	at        int
}

func (c *choices) choose(n int) int {
	if c.at == len(c.taken) {
		c.taken, c.of = append(c.taken, 0), append(c.of, n)
	}
	c.of[c.at] = n
	c.taken[c.at] = min(c.taken[c.at], n-1) // the course was not quite the same again
	c.at++
	return c.taken[c.at-1]
}

// next moves on to the next sequence, and reports whether there is one.
func (c *choices) next() bool {
	c.taken, c.of, c.at = c.taken[:c.at], c.of[:c.at], 0
	for i := len(c.taken) - 1; i >= 0; i-- {
		if c.taken[i]++; c.taken[i] < c.of[i] {
			c.taken, c.of = c.taken[:i+1], c.of[:i+1]
			return true
		}
	}
	return false
}

// counted stamps messages with numbers, so that their retries come at the same times in each
// sequence.
type counted struct{ n atomic.Int64 }

func (c *counted) Stamp() p.Stamp {
	return p.Stamp{ID: p.MessageID(fmt.Sprintf("m%d", c.n.Add(1))), Time: time.Now()}
}

// scenario is a recruiting whose messages the test delivers one by one, between the initiator,
// the recruiter, a recruit and a designated receiver.
type scenario struct {
	*kit.World
	*choices
	faults  int // how many things may still go wrong
	stops   bool
	mu      sync.Mutex
	waiting []*p.Message
	sorted  int                                       // how many of them are in order
	ends    map[string]map[machine.Role]machine.State // by protocol
	script  []string                                  // what went wrong
	harm    bool                                      // something was withdrawn or stopped
	stopped bool                                      // someone was
	third   *receiver
	running *mediation.Recruiting
	n       int // of the course
}

// id returns the id of an agent of this scenario.
func (s *scenario) id(name string) p.AgentID { return p.AgentID(fmt.Sprint(name, s.n)) }

// newScenario sets the n-th scenario of a world.
func newScenario(w *kit.World, n int, c *choices, faults int, stops bool) *scenario {
	s := &scenario{
		World: w, choices: c, faults: faults, stops: stops, n: n,
		third: &receiver{}, ends: map[string]map[machine.Role]machine.State{},
	}
	w.Add(s.id("Eddy"), &kit.Worker{})
	w.Add(s.id("Receiver"), s.third)
	w.Add(s.id("Jules"), succeeding("done"))
	w.Add(s.id("Broker"), &mediation.Broker{})
	w.Net.Intercept(func(m *p.Message) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if m.Performative() != p.ActStatusUpdate { // nothing depends on those
			s.waiting = append(s.waiting, m)
		}
		return true
	})
	return s
}

// end records how each side has ended.
func (s *scenario) end(steps []lifecycle.Transition) {
	for _, tr := range steps {
		if !tr.Ended {
			continue
		}
		if s.ends[tr.Protocol] == nil {
			s.ends[tr.Protocol] = map[machine.Role]machine.State{}
		}
		s.ends[tr.Protocol][tr.Role] = tr.To
	}
}

// close stops the agents of the scenario.
func (s *scenario) close() {
	s.Net.Intercept(nil)
	for _, name := range cast {
		_ = s.StopAgent(context.Background(), s.id(name)) // it has perhaps stopped before
	}
}

// cast are the agents that may stop.
var cast = []string{"Eddy", "Broker", "Jules", "Receiver"}

// queue returns the waiting messages, the oldest first. The order of messages that were sent at
// the same time is always the same.
func (s *scenario) queue() []*p.Message {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.waiting[s.sorted:], func(a, b *p.Message) int { return cmp.Compare(kit.Line(a, false), kit.Line(b, false)) })
	s.sorted = len(s.waiting)
	return slices.Clone(s.waiting)
}

func (s *scenario) take(m *p.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, m); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		if i < s.sorted {
			s.sorted--
		}
	}
}

// arrive delivers a message as a node does: an undeliverable message is refused.
func (s *scenario) arrive(m *p.Message) {
	if err := s.Deliver(m.Receiver(), m); err != nil {
		var r *p.Refusal
		if errors.As(err, &r) {
			s.Refuse(m.Receiver(), m, r.Code, "")
		}
	}
}

// step is one possible event.
type step struct {
	name string
	do   func()
}

// possibleFaults returns the faults that are possible now.
func (s *scenario) possibleFaults(queue []*p.Message) []step {
	var all []step
	for i, m := range queue {
		name := fmt.Sprintf("%s of %s", m.Performative(), m.Sender())
		all = append(all,
			step{name + " is lost", func() { s.take(m) }},
			step{name + " comes twice", func() { s.take(m); s.arrive(m); s.arrive(m) }},
			step{name + " comes once more, late", func() {
				s.take(m)
				s.arrive(m)
				time.AfterFunc(30*time.Second, func() { s.arrive(m) })
			}},
		)
		if i > 0 {
			all = append(all, step{name + " overtakes", func() { s.take(m); s.arrive(m) }})
		}
	}
	all = append(all, step{"Eddy cancels", func() { s.harm = true; s.running.Cancel() }})
	if s.stops {
		for _, name := range cast {
			all = append(all, step{name + " stops", func() {
				s.harm, s.stopped = true, true
				_ = s.StopAgent(context.Background(), s.id(name)) // it has perhaps stopped before
			}})
		}
	}
	return all
}

// play runs the chosen events until none is left.
func (s *scenario) play() {
	over, end := false, time.Now().Add(2*time.Minute)
	for time.Now().Before(end) {
		queue := s.queue()
		if !over && isDone(s.running) {
			over, end = true, time.Now().Add(time.Minute) // for the rest to end, and what comes late to come
		}
		if s.faults > 0 && !over {
			possibleFaults := s.possibleFaults(queue)
			if i := s.choose(len(possibleFaults) + 1); i > 0 {
				s.faults--
				s.script = append(s.script, possibleFaults[i-1].name)
				possibleFaults[i-1].do()
				continue
			}
		}
		if len(queue) > 0 {
			s.take(queue[0])
			s.arrive(queue[0])
			continue
		}
		time.Sleep(10 * time.Second)
	}
}

func isDone(r *mediation.Recruiting) bool {
	select {
	case <-r.Done():
		return true
	default:
		return false
	}
}

// check fails the test unless all sides have ended and the ends agree: those of each pair by its
// table, and the result of the initiator with the deliveries of the receiver.
func (s *scenario) check(to string) {
	t, course := s.T, strings.Join(s.script, "; ")
	if !isDone(s.running) {
		t.Fatalf("%s: the initiator waits", course)
	}
	synctest.Wait()
	if n := s.Counts(); n.Open != 0 || n.Working != 0 {
		t.Fatalf("%s: %d conversations and %d handlers are under way", course, n.Open, n.Working)
	}
	got, err := s.running.Wait()
	if !s.stopped { // else the runtime may have answered in the place of one who stopped, and forgot
		s.checkPairs(course)
	}
	delivered := len(s.third.deliveries())
	if to == "Eddy" {
		delivered = len(got.Deliveries)
	}
	believes := slices.ContainsFunc(got.Recruits, func(r mediation.ProxyReply) bool { return r.Delivered })
	switch {
	case delivered > 1:
		t.Errorf("%s: %d deliveries of one result", course, delivered)
	case believes && delivered == 0:
		t.Errorf("%s: the initiator is told of a delivery that nobody got", course)
	case err == nil && delivered == 0:
		t.Errorf("%s: no error, and no delivery", course)
	case !s.harm && (err != nil || delivered != 1):
		t.Errorf("%s: %d deliveries, %v: nothing but messages went wrong", course, delivered, err)
	}
}

func (s *scenario) checkPairs(course string) {
	for _, table := range []machine.Table{mediation.RecruitingCodon.Table, delegation.Codon.Table, mediation.DeliveryCodon.Table} {
		ends, ok := s.ends[table.Name]
		if !ok {
			continue
		}
		pair := machine.Pair{Initiator: ends[machine.Initiator], Responder: ends[machine.Responder]}
		if pair.Responder == "" {
			pair.Responder = machine.Idle
		}
		if !slices.ContainsFunc(table.Agree, func(a machine.Pair) bool {
			return a.Initiator == pair.Initiator && a.Responder == pair.Responder
		}) {
			s.T.Errorf("%s: %s ends %s and %s", course, table.Name, pair.Initiator, pair.Responder)
		}
	}
}

// TestRecruitingInterleavings runs a recruiting through every order of its messages with a
// bounded number of faults: a message lost, repeated, late or overtaken, the initiator
// cancelling, or any of the four agents stopping. The reduced form has one fault at a time.
func TestRecruitingInterleavings(t *testing.T) {
	for _, c := range []struct {
		name   string
		to     string
		faults int
		stops  bool
	}{
		{"to the initiator, one thing goes wrong", "Eddy", 1, true},
		{"to a third, one thing goes wrong", "Receiver", 1, true},
		{"to the initiator, two things go wrong", "Eddy", 2, false},
		{"to a third, two things go wrong", "Receiver", 2, false},
		{"to a third, two things go wrong, and agents stop", "Receiver", 2, true},
	} {
		if c.faults > 1 && !exhaustive.Enabled() {
			continue // thousands of courses
		}
		t.Run(c.name, func(t *testing.T) {
			kit.InWorldWith(t, codons.Times{}, actors.Options{Stamper: &counted{}}, func(t *testing.T, w *kit.World) {
				courses := allCourses(t, w, c.to, c.faults, c.stops)
				t.Log(courses, "courses")
			})
		})
	}
}

// allCourses runs every sequence until one fails, and returns their number.
func allCourses(t *testing.T, w *kit.World, to string, faults int, stops bool) int {
	if stops {
		w.Allow(systemtest.Violation) // the runtime speaks in their place
	}
	steps := kit.Recording(&w.Events, lifecycle.KindTransition)
	courses := 0
	for ch := (&choices{}); courses == 0 || ch.next(); courses++ {
		s := newScenario(w, courses, ch, faults, stops)
		s.recruit(to)
		s.play()
		synctest.Wait()
		s.end(kit.Published[lifecycle.Transition](t, steps))
		s.check(to)
		s.close()
		_ = kit.Published[lifecycle.Transition](t, steps) // of the end of its agents
		if t.Failed() {
			break
		}
	}
	return courses
}

// recruit begins the recruiting.
func (s *scenario) recruit(to string) {
	q := mediation.Proxy{Agents: []p.AgentID{s.id("Jules")}, Task: kit.Task(), Receiver: s.id(to)}
	eddy, _ := s.Lookup(s.id("Eddy"))
	ctx, cancel := context.WithTimeout(s.T.Context(), time.Minute)
	var err error
	if s.running, err = mediation.StartRecruiting(ctx, eddy, s.id("Broker"), q); err != nil {
		s.T.Fatal(err)
	}
	time.AfterFunc(2*time.Minute, cancel) // its deadline ends it before
}
