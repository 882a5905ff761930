package codons_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// choices replays a prefix of choices, then takes the first of each, and knows
// which prefix comes next.
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

// next moves on to the next course, and reports whether there is one.
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

// counted stamps messages with numbers, so that their retries come at the same
// times in each course.
type counted struct{ n atomic.Int64 }

func (c *counted) Stamp() p.Stamp {
	return p.Stamp{ID: p.MessageID(fmt.Sprintf("m%d", c.n.Add(1))), Time: time.Now()}
}

// stage is a recruiting whose every message waits for the test to let it through:
// the initiator, the recruiter, a recruit and a designated receiver.
type stage struct {
	*world
	*choices
	mischief int // how many things may still go wrong
	stops    bool
	waiting  []*p.Message
	sorted   int                                       // how many of them are in order
	ends     map[string]map[machine.Role]machine.State // by protocol
	script   []string                                  // what went wrong
	harm     bool                                      // something was withdrawn or stopped
	stopped  bool                                      // someone was
	third    *porch
	running  *codons.Recruiter
	n        int // of the course
}

// id names an agent of this course.
func (s *stage) id(name string) p.AgentID { return p.AgentID(fmt.Sprint(name, s.n)) }

// newStage sets the n-th stage of a world.
func newStage(w *world, n int, c *choices, mischief int, stops bool) *stage {
	s := &stage{
		world: w, choices: c, mischief: mischief, stops: stops, n: n,
		third: &porch{}, ends: map[string]map[machine.Role]machine.State{},
	}
	w.spawn(s.id("Eddy"), &worker{})
	w.spawn(s.id("Porch"), s.third)
	w.spawn(s.id("Jules"), doing("done"))
	w.spawn(s.id("Broker"), &codons.Broker{})
	w.net.intercept(func(m *p.Message) bool {
		if m.Performative() != p.ActStatusUpdate { // nothing depends on those
			s.waiting = append(s.waiting, m)
		}
		return true
	})
	return s
}

// end notes how one side has ended.
func (s *stage) end(tr codons.Transition) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	if s.ends[tr.Protocol] == nil {
		s.ends[tr.Protocol] = map[machine.Role]machine.State{}
	}
	s.ends[tr.Protocol][tr.Role] = tr.To
}

// close takes the stage down.
func (s *stage) close() {
	s.net.intercept(nil)
	for _, name := range cast {
		_ = s.StopAgent(context.Background(), s.id(name)) // it has perhaps stopped before
	}
}

// cast are who may stop.
var cast = []string{"Eddy", "Broker", "Jules", "Porch"}

// queue returns what waits, the oldest first. Of those that were sent at once, the
// order is always the same.
func (s *stage) queue() []*p.Message {
	synctest.Wait()
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	slices.SortStableFunc(s.waiting[s.sorted:], func(a, b *p.Message) int { return cmp.Compare(line(a, false), line(b, false)) })
	s.sorted = len(s.waiting)
	return slices.Clone(s.waiting)
}

func (s *stage) take(m *p.Message) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	if i := slices.Index(s.waiting, m); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		if i < s.sorted {
			s.sorted--
		}
	}
}

// arrive delivers a message as a node does: what cannot be delivered is refused.
func (s *stage) arrive(m *p.Message) {
	if err := s.Deliver(m.Receiver(), m); err != nil {
		var r *p.Refusal
		if errors.As(err, &r) {
			s.Refuse(m.Receiver(), m, r.Code, "")
		}
	}
}

// step is one thing that may happen.
type step struct {
	name string
	do   func()
}

// wrongs are what may go wrong now, besides the oldest message arriving.
func (s *stage) wrongs(queue []*p.Message) []step {
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

// play lets everything happen that is chosen, until nothing is left to happen.
func (s *stage) play() {
	over, end := false, time.Now().Add(2*time.Minute)
	for time.Now().Before(end) {
		queue := s.queue()
		if !over && isDone(s.running) {
			over, end = true, time.Now().Add(time.Minute) // for the rest to end, and what comes late to come
		}
		if s.mischief > 0 && !over {
			wrongs := s.wrongs(queue)
			if i := s.choose(len(wrongs) + 1); i > 0 {
				s.mischief--
				s.script = append(s.script, wrongs[i-1].name)
				wrongs[i-1].do()
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

func isDone(r *codons.Recruiter) bool {
	select {
	case <-r.Done():
		return true
	default:
		return false
	}
}

// check expects that nobody waits any more and that the ends agree: those of each
// pair by its table, and what the initiator believes with what the receiver has.
func (s *stage) check(to string) {
	t, course := s.t, strings.Join(s.script, "; ")
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
	believes := slices.ContainsFunc(got.Recruits, func(r codons.ProxyReply) bool { return r.Delivered })
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

func (s *stage) checkPairs(course string) {
	for _, table := range []machine.Table{codons.RecruitingTable(), codons.DelegationTable(), codons.DeliveryTable()} {
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
			s.t.Errorf("%s: %s ends %s and %s", course, table.Name, pair.Initiator, pair.Responder)
		}
	}
}

// TestEveryCourseOfARecruiting takes a recruiting through every order of its
// messages in which so much goes wrong, anywhere: a message lost, repeated at once
// or late, or overtaken, the initiator cancelling, any of the four stopping.
func TestEveryCourseOfARecruiting(t *testing.T) {
	for _, c := range []struct {
		name     string
		to       string
		mischief int
		stops    bool
	}{
		{"to the initiator, one thing goes wrong", "Eddy", 1, true},
		{"to a third, one thing goes wrong", "Porch", 1, true},
		{"to the initiator, two things go wrong", "Eddy", 2, false},
		{"to a third, two things go wrong", "Porch", 2, false},
		{"to a third, two things go wrong, and agents stop", "Porch", 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.mischief > 1 {
				t.Skip("many courses")
			}
			inWorldWith(t, actors.Options{Stamper: &counted{}}, func(t *testing.T, w *world) {
				courses := allCourses(t, w, c.to, c.mischief, c.stops)
				t.Log(courses, "courses")
			})
		})
	}
}

// allCourses takes every course, until one fails, and returns how many it took.
func allCourses(t *testing.T, w *world, to string, mischief int, stops bool) int {
	w.lawless.Store(stops) // the runtime speaks in their place
	var current atomic.Pointer[stage]
	w.Events.Listen(func(ev actors.Event) {
		if tr, ok := ev.(codons.Transition); ok && tr.Ended {
			current.Load().end(tr)
		}
	})
	courses := 0
	for ch := (&choices{}); courses == 0 || ch.next(); courses++ {
		s := newStage(w, courses, ch, mischief, stops)
		current.Store(s)
		s.recruit(to)
		s.play()
		s.check(to)
		s.close()
		if t.Failed() {
			break
		}
	}
	return courses
}

// recruit begins what is played.
func (s *stage) recruit(to string) {
	q := codons.Proxy{Agents: []p.AgentID{s.id("Jules")}, Task: task(), Receiver: s.id(to)}
	eddy, _ := s.Lookup(s.id("Eddy"))
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	var err error
	if s.running, err = codons.StartRecruiting(ctx, eddy, s.id("Broker"), q); err != nil {
		s.t.Fatal(err)
	}
	time.AfterFunc(2*time.Minute, cancel) // its deadline ends it before
}
