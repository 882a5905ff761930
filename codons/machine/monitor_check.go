package machine

import (
	"fmt"
	"slices"
	"strings"
)

// MonitorCheck bounds a [CheckMonitor].
type MonitorCheck struct {
	Traces int // different possible traces to begin with, the shortest ones; zero means 300
	Walks  int // courses of random moves; zero means 1,000
	Mutate int // of these, those that are mutated as well; zero means 100
	Length int // messages of each of these at most; zero means 8, at most 15
}

func (c MonitorCheck) withDefaults() MonitorCheck {
	if c.Traces == 0 {
		c.Traces = 300
	}
	if c.Walks == 0 {
		c.Walks = 1000
	}
	if c.Mutate == 0 {
		c.Mutate = 100
	}
	if c.Length == 0 {
		c.Length = 8
	}
	c.Length = min(c.Length, maxAlike-1)
	return c
}

// MonitorReport is what a [CheckMonitor] tried.
type MonitorReport struct {
	Alphabet   int // different messages that the table knows, first and again
	Traces     int // different possible traces, each with every message of the alphabet after it
	Longest    int // messages of the longest trace such that all up to that length are among them
	Walks      int // courses of random moves, all of them possible
	Mutants    int // traces with one message dropped, added or exchanged with its neighbour
	Impossible int // of them, those that no conversation can produce, all of which were refused
}

// String sums it up in a line.
func (r MonitorReport) String() string {
	return fmt.Sprintf("alphabet of %d, %d traces (all of up to %d messages), %d walks, %d mutants, %d of them impossible",
		r.Alphabet, r.Traces, r.Longest, r.Walks, r.Mutants, r.Impossible)
}

// MonitorError is a trace on which a [Monitor] is wrong.
type MonitorError struct {
	Table    string
	Trace    []Utterance // it is wrong about the last of these
	Possible bool        // whether a conversation can go that way
}

// Error names the trace, a message a line.
func (e *MonitorError) Error() string {
	fault := "accepts what no conversation can produce"
	if e.Possible {
		fault = "refuses what a conversation can produce"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "machine: %s: the monitor %s", e.Table, fault)
	for i, u := range e.Trace {
		fmt.Fprintf(&b, "\n%4d  %s", i+1, u)
	}
	return b.String()
}

// CheckMonitor holds the monitor of m against an oracle that follows every joint
// state of both sides and the network between them. They have to agree, message
// by message, about
//
//   - every possible trace, the shortest first, and each with every message that
//     the table knows after it;
//   - random walks, and every mutant of some: one message dropped, one of the
//     table's added, two neighbours exchanged, at every place.
//
// So the monitor accepts all traces that it is tried on and that a conversation
// can produce over the worst network, and refuses all others, no later and no
// earlier than the oracle does. Where they differ it returns a [*MonitorError].
// The table has to pass [Explore]. choose picks a number from 0 up to n, as for
// [Walk]. It takes seconds; it is for tests.
func CheckMonitor(m *Machine, c MonitorCheck, choose func(n int) int) (MonitorReport, error) {
	k := &monitorCheck{MonitorCheck: c.withDefaults(), machine: m, monitor: m, alphabet: m.alphabet()}
	k.report.Alphabet = len(k.alphabet)
	err := k.enumerate()
	for i := 0; i < k.Walks && err == nil; i++ {
		err = k.walk(Walk(m, Network{Repeat: k.Length}, 12*k.Length, choose), i < k.Mutate)
	}
	return k.report, err
}

// monitorCheck is the state of one check.
type monitorCheck struct {
	MonitorCheck
	machine  *Machine // of the oracle
	monitor  *Machine // of the monitor: the same, but in a test of this
	alphabet []Utterance
	oracle   *oracle
	report   MonitorReport
}

// prefix is a possible trace, and what the two make of it.
type prefix struct {
	trace   []Utterance
	belief  *belief
	monitor *Monitor
}

// begin returns the empty trace. The oracle forgets what it knows of others, since
// it tells but a few messages apart.
func (k *monitorCheck) begin() (prefix, error) {
	k.oracle = newOracle(k.machine)
	belief, err := k.oracle.start()
	return prefix{belief: belief, monitor: NewMonitor(k.monitor)}, err
}

// extend has both judge one more message. They have to agree; then possible says
// on what.
func (k *monitorCheck) extend(p prefix, u Utterance) (next prefix, possible bool, err error) {
	belief, err := k.oracle.hear(p.belief, u)
	if err != nil {
		return p, false, err
	}
	next = prefix{trace: append(slices.Clip(p.trace), u), belief: belief, monitor: p.monitor.fork()}
	possible = belief != nil
	if accepted := next.monitor.Observe(u) == nil; accepted != possible {
		return next, possible, &MonitorError{Table: k.machine.Name(), Trace: next.trace, Possible: possible}
	}
	return next, possible, nil
}

// enumerate tries the shortest traces.
func (k *monitorCheck) enumerate() error {
	first, err := k.begin()
	if err != nil {
		return err
	}
	todo := []prefix{first}
	for ; len(todo) > 0 && k.report.Traces < k.Traces; todo = todo[1:] {
		k.report.Longest = max(len(todo[0].trace)-1, 0)
		for _, u := range k.alphabet {
			next, possible, err := k.extend(todo[0], u)
			if err != nil {
				return err
			}
			if possible {
				todo = append(todo, next)
			}
		}
		k.report.Traces++
	}
	return nil
}

// walk tries a course, and its mutants. That a course is possible needs no oracle.
func (k *monitorCheck) walk(course []Move, mutate bool) error {
	trace := spoken(course)
	trace = trace[:min(len(trace), k.Length)]
	k.report.Walks++
	if mutate {
		return k.mutate(trace)
	}
	o := NewMonitor(k.monitor)
	for i, u := range trace {
		if o.Observe(u) != nil {
			return &MonitorError{Table: k.machine.Name(), Trace: trace[:i+1], Possible: true}
		}
	}
	return nil
}

// mutate tries a trace and its mutants.
func (k *monitorCheck) mutate(trace []Utterance) error {
	p, err := k.begin()
	if err != nil {
		return err
	}
	for i := range trace {
		if err := k.mutants(p, trace[i:]); err != nil {
			return err
		}
		possible := false
		if p, possible, err = k.extend(p, trace[i]); err != nil {
			return err
		}
		if !possible {
			return fmt.Errorf("machine: %s: the oracle takes a walk for impossible: %s", k.machine.Name(), join(p.trace))
		}
	}
	return k.mutants(p, nil)
}

// mutants tries a trace with one change at one place.
func (k *monitorCheck) mutants(p prefix, rest []Utterance) error {
	for _, u := range k.alphabet {
		if err := k.mutant(p, []Utterance{u}, rest); err != nil {
			return err
		}
	}
	if len(rest) < 2 {
		return nil // what is dropped at the end leaves a possible trace
	}
	if err := k.mutant(p, nil, rest[1:]); err != nil {
		return err
	}
	return k.mutant(p, []Utterance{rest[1], rest[0]}, rest[2:])
}

// mutant tries one trace.
func (k *monitorCheck) mutant(p prefix, change, rest []Utterance) error {
	k.report.Mutants++
	for _, u := range slices.Concat(change, rest) {
		next, possible, err := k.extend(p, u)
		if err != nil {
			return err
		}
		if !possible {
			k.report.Impossible++
			return nil
		}
		p = next
	}
	return nil
}

// spoken returns the messages of a walk.
func spoken(walk []Move) []Utterance {
	var trace []Utterance
	for _, m := range walk {
		if m.Says != (Utterance{}) {
			trace = append(trace, m.Says)
		}
	}
	return trace
}

// alphabet returns all that a monitor of m may come to judge.
func (m *Machine) alphabet() []Utterance {
	var all []Utterance
	for _, s := range m.order {
		for _, e := range s.do {
			u := Utterance{From: s.role, Act: e.Act, Tag: e.Name}
			switch e.Kind {
			case EffectRefuse:
				u = Utterance{From: s.role, Act: e.Answer(s.on.Act)}
			case EffectSend:
			case EffectResend, EffectArm, EffectDisarm, EffectRun, EffectStop, EffectReport, EffectDrop:
				continue
			}
			if !slices.Contains(all, u) {
				again := u
				again.Again = true
				all = append(all, u, again)
			}
		}
	}
	return all
}
