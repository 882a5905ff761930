package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// MonitorCheck has the bounds of a [CheckMonitor].
type MonitorCheck struct {
	Traces int // possible traces to enumerate, the shortest ones first; zero means 300
	Walks  int // random conversations; zero means 1,000
	Mutate int // of the walks, those that are mutated as well; zero means 100
	Length int // the largest number of messages of a walk; zero means 8, at most 15
}

func (c MonitorCheck) withDefaults() MonitorCheck {
	c.Traces = cmp.Or(c.Traces, 300)
	c.Walks = cmp.Or(c.Walks, 1000)
	c.Mutate = cmp.Or(c.Mutate, 100)
	c.Length = cmp.Or(c.Length, 8)
	c.Length = min(c.Length, machine.MaxAlike-1)
	return c
}

// MonitorReport is the summary of a [CheckMonitor].
type MonitorReport struct {
	Traces     int // possible traces, each tried with every message of the alphabet after it
	Mutants    int // traces with one message removed, inserted or exchanged with its neighbour
	Impossible int // of the mutants, those that no conversation has; the monitor has refused all of them
}

// String returns the numbers in one line.
func (r MonitorReport) String() string {
	return fmt.Sprintf("%d traces, %d mutants, %d of them impossible", r.Traces, r.Mutants, r.Impossible)
}

// MonitorError is a trace about which a [machine.Monitor] is wrong.
type MonitorError struct {
	Table    string
	Trace    []machine.Utterance // the monitor is wrong about the last message
	Possible bool                // whether a conversation has this trace
}

// Error lists the trace, a message a line.
func (e *MonitorError) Error() string {
	fault := "accepts a trace that no conversation can produce"
	if e.Possible {
		fault = "refuses a trace that a conversation can produce"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "verify: %s: the monitor %s", e.Table, fault)
	for i, u := range e.Trace {
		fmt.Fprintf(&b, "\n%4d  %s", i+1, u)
	}
	return b.String()
}

// CheckMonitor compares the monitor of m with an oracle that keeps every joint state
// of both sides and of the network between them. The two have to agree, message by
// message, about
//
//   - every possible trace, the shortest first, each followed by every message of the
//     table;
//   - random walks, and every mutant of some of them: one message removed, one message
//     of the table inserted, or two neighbours exchanged, at every place.
//
// So on these traces, the monitor accepts exactly those that a conversation over the
// worst network can produce, and refuses the others at the same message as the oracle.
// A difference is a [*MonitorError]. The table has to pass [Explore]. choose(n) picks a
// number from 0 to n-1, as for [Walk]. A check takes seconds.
func CheckMonitor(m *machine.Machine, c MonitorCheck, choose func(n int) int) (MonitorReport, error) {
	k := newMonitorCheck(m, c)
	err := k.enumerate()
	for i := 0; i < k.Walks && err == nil; i++ {
		err = k.walk(Walk(m, Network{Repeat: k.Length}, 12*k.Length, choose), i < k.Mutate)
	}
	return k.report, err
}

// monitorCheck is one check.
type monitorCheck struct {
	MonitorCheck
	machine   *machine.Machine // of the oracle
	monitored *machine.Machine // of the monitor; another one only where a test needs a wrong monitor
	alphabet  []machine.Utterance
	oracle    *oracle
	report    MonitorReport
}

func newMonitorCheck(m *machine.Machine, c MonitorCheck) *monitorCheck {
	return &monitorCheck{MonitorCheck: c.withDefaults(), machine: m, monitored: m, alphabet: alphabet(m)}
}

// prefix is a possible trace, with the belief of the oracle and the monitor after it.
type prefix struct {
	trace   []machine.Utterance
	belief  *belief
	monitor *machine.Monitor
}

// begin returns the empty trace. It starts a new oracle, since one oracle has room for
// a few different messages only.
func (k *monitorCheck) begin() (prefix, error) {
	k.oracle = newOracle(k.machine)
	belief, err := k.oracle.start()
	return prefix{belief: belief, monitor: machine.NewMonitor(k.monitored)}, err
}

// extend has the oracle and the monitor judge one more message. It returns their common
// verdict, or an error where they differ.
func (k *monitorCheck) extend(p prefix, u machine.Utterance) (next prefix, possible bool, err error) {
	belief, err := k.oracle.observe(p.belief, u)
	if err != nil {
		return p, false, err
	}
	next = prefix{trace: append(slices.Clip(p.trace), u), belief: belief, monitor: p.monitor.Clone()}
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

// walk tries the trace of a walk, and its mutants where wanted. The walk itself proves
// that its trace is possible, so it needs no oracle.
func (k *monitorCheck) walk(moves []Move, mutate bool) error {
	trace := traceOf(moves)
	trace = trace[:min(len(trace), k.Length)]
	if mutate {
		return k.mutate(trace)
	}
	o := machine.NewMonitor(k.monitored)
	for i, u := range trace {
		if o.Observe(u) != nil {
			return &MonitorError{Table: k.machine.Name(), Trace: trace[:i+1], Possible: true}
		}
	}
	return nil
}

// mutate tries a trace and its mutants.
func (k *monitorCheck) mutate(trace []machine.Utterance) error {
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
			return fmt.Errorf("verify: %s: the oracle takes a walk for impossible: %v", k.machine.Name(), p.trace)
		}
	}
	return k.mutants(p, nil)
}

// mutants tries a trace with one change between p and rest.
func (k *monitorCheck) mutants(p prefix, rest []machine.Utterance) error {
	for _, u := range k.alphabet {
		if err := k.mutant(p, []machine.Utterance{u}, rest); err != nil {
			return err
		}
	}
	if len(rest) < 2 {
		return nil // without its last message, the trace is possible
	}
	if err := k.mutant(p, nil, rest[1:]); err != nil {
		return err
	}
	return k.mutant(p, []machine.Utterance{rest[1], rest[0]}, rest[2:])
}

// mutant tries one trace.
func (k *monitorCheck) mutant(p prefix, change, rest []machine.Utterance) error {
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

// traceOf returns the messages of a walk.
func traceOf(moves []Move) []machine.Utterance {
	var trace []machine.Utterance
	for _, m := range moves {
		if m.Utterance != (machine.Utterance{}) {
			trace = append(trace, m.Utterance)
		}
	}
	return trace
}

// alphabet returns every message that a side of m can send, each as a new message and
// as a duplicate.
func alphabet(m *machine.Machine) []machine.Utterance {
	var all []machine.Utterance
	for t := range m.Transitions() {
		for _, e := range t.Do {
			u := machine.Utterance{From: t.Role, Act: e.Act, Tag: e.Name}
			switch e.Kind {
			case machine.EffectRefuse:
				u = machine.Utterance{From: t.Role, Act: e.Answer(t.On.Act)}
			case machine.EffectSend:
			case machine.EffectResend, machine.EffectArm, machine.EffectDisarm, machine.EffectRun, machine.EffectStop,
				machine.EffectReport, machine.EffectDrop:
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

// Walk returns one conversation of m over a network: choose(n) picks each move among
// the n possible ones, as a number from 0 to n-1. The walk ends after that many moves,
// at a violation, or when no move is possible. It does not report the violation;
// [Explore] does. Walk is pure if choose is.
func Walk(m *machine.Machine, n Network, moves int, choose func(n int) int) []Move {
	x := newExplorer(m, n.withDefaults())
	var (
		at   joint
		path []Move
	)
	for range moves {
		var (
			next []joint
			how  []Move
		)
		for to, via := range x.moves(at) {
			next, how = append(next, to), append(how, via)
		}
		if len(next) == 0 || x.problem != nil {
			break
		}
		i := choose(len(next))
		at, path = next[i], append(path, how[i])
	}
	return path
}
