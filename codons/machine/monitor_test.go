package machine

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// haggle is a table with all that makes a monitor's life hard: rounds, tags,
// progress, retries, refusals, a cancellation that may overtake.
func haggle() Table {
	const asked, again, busy, open, bought, gone State = "asked", "again", "busy", "open", "bought", "gone"
	live, ended := []State{asked, again, busy, open}, []State{bought, gone}
	ini, res := func(s ...State) Row { return For(Initiator, s...) }, func(s ...State) Row { return For(Responder, s...) }
	return Table{
		Name: "haggle", Live: live, Terminal: ended,
		Jobs: []Job{{Role: Responder, Name: "think", Says: []string{"report"}, Ends: []string{"sell", "offer"}}},
		Timers: []Timer{
			{Role: Initiator, Name: "deadline"},
			{Role: Initiator, Name: "retry"},
			{Role: Responder, Name: "deadline"},
		},
		Rows: []Row{
			ini(Idle).When(Command("start")).Goto(asked, Send(p.ActRequest), Arm("deadline"), Arm("retry")),
			ini(asked).When(Timeout("retry")).Stay(Resend(p.ActRequest), Arm("retry")),
			ini(asked).When(Receive(p.ActStatusUpdate)).Stay(Report("progress")),
			ini(asked).When(Stale(p.ActStatusUpdate)).Stay(Drop("stale")),
			ini(asked).When(ReceiveTagged(p.ActInform, "offer")).Goto(again, Disarm("retry")),
			ini(asked).When(Receive(p.ActInform)).Goto(bought),
			ini(asked).When(Receive(p.ActRefuse), Receive(p.ActFailure)).Goto(gone),
			ini(again).When(Command("more")).Goto(asked, Send(p.ActRequest), Arm("retry")),
			ini(asked, again).When(Command("cancel")).Goto(gone, Send(p.ActCancel)),
			ini(asked, again).When(Timeout("deadline")).Goto(gone),
			ini(bought, gone).When(Command("cancel")).Stay(Drop("late")),
			ini(asked, again, bought, gone).When(OtherNotices(), OtherDuplicates()).Stay(Drop("late")),

			res(Idle).When(Receive(p.ActRequest)).Goto(busy, Run("think"), Arm("deadline")),
			res(Idle).When(Receive(p.ActCancel)).Goto(gone),
			res(busy).When(Command("report")).Stay(Send(p.ActStatusUpdate)),
			res(busy).When(Command("sell")).Goto(bought, Send(p.ActInform)),
			res(busy).When(Command("offer")).Goto(open, SendTagged(p.ActInform, "offer")),
			res(open).When(Receive(p.ActRequest)).Goto(busy, Run("think")),
			res(busy).When(Receive(p.ActCancel), Timeout("deadline")).Goto(gone, Stop("think"), Send(p.ActFailure)),
			res(open).When(Receive(p.ActCancel), Timeout("deadline")).Goto(gone),
			res(open).When(Duplicate(p.ActRequest)).Stay(Resend(p.ActInform)),
			res(bought).When(Duplicate(p.ActRequest)).Stay(Resend(p.ActInform)),
			res(gone).When(Command("report"), Command("sell"), Command("offer")).Stay(Drop("late")),
			res(busy, open, bought, gone).When(OtherDuplicates()).Stay(Drop("duplicate")),
			res(bought, gone).When(OtherRequests()).Stay(Refuse(p.CodeCanceled)),
		},
		Agree: []Pair{
			{Initiator: bought, Responder: bought},
			{Initiator: gone, Responder: gone},
			{Initiator: gone, Responder: bought},
			{Initiator: gone, Responder: Idle},
		},
	}
}

// reference tells legal traces from others the slow way: it holds every joint
// state that the trace may have led to.
type reference struct {
	x     *explorer
	at    map[joint]bool
	trace []Utterance
}

func newReference(m *Machine) *reference {
	x := newExplorer(m, Network{Repeat: 100}.withDefaults())
	return &reference{x: x, at: map[joint]bool{{}: true}}
}

func (r *reference) observe(u Utterance) bool {
	after := map[joint]bool{}
	reached := map[joint]bool{}
	var todo []joint
	for j := range r.at {
		reached[j], todo = true, append(todo, j)
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for to, via := range r.x.moves(todo[0]) {
			switch {
			case via.Says == u:
				after[to] = true
			case via.Says == Utterance{} && !reached[to]:
				reached[to], todo = true, append(todo, to)
			}
		}
		r.x.problem = nil
	}
	first := u
	first.Again = false
	if u.Again && slices.Contains(r.trace, first) { // the network may repeat anything
		maps.Copy(after, r.at)
	}
	r.trace = append(r.trace, u)
	if len(after) == 0 {
		return false
	}
	r.at = after
	return true
}

// legal returns how many utterances of a trace the reference accepts.
func (r *reference) legal(trace []Utterance) int {
	for i, u := range trace {
		if !r.observe(u) {
			return i
		}
	}
	return len(trace)
}

func monitored(m *Machine, trace []Utterance) (int, error) {
	o := NewMonitor(m)
	for i, u := range trace {
		if err := o.Observe(u); err != nil {
			return i, err
		}
	}
	return len(trace), nil
}

func says(moves []Move) []Utterance {
	var trace []Utterance
	for _, m := range moves {
		if m.Says != (Utterance{}) {
			trace = append(trace, m.Says)
		}
	}
	return trace
}

func TestHaggleIsSound(t *testing.T) {
	r, err := Explore(haggle().MustCompile(), Network{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r, r.Unexercised)
}

// TestMonitorAcceptsEveryExploredTrace follows the shortest way to every joint
// state, and from there every move.
func TestMonitorAcceptsEveryExploredTrace(t *testing.T) {
	for _, table := range []Table{ping(), haggle()} {
		m := table.MustCompile()
		x := newExplorer(m, Network{}.withDefaults())
		if err := x.walk(); err != nil {
			t.Fatal(err)
		}
		for i := range x.nodes {
			trace := says(x.path(int32(i)))
			for _, via := range x.moves(x.nodes[i].joint) {
				if via.Says == (Utterance{}) {
					continue
				}
				if _, err := monitored(m, append(slices.Clip(trace), via.Says)); err != nil {
					t.Fatalf("%v\n%v\n%v", trace, via, err)
				}
			}
		}
	}
}

// TestMonitorAgreesWithTheReference mutates explored traces and expects the
// monitor to refuse what the reference refuses, at the same message.
func TestMonitorAgreesWithTheReference(t *testing.T) {
	m := haggle().MustCompile()
	rng := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 500 {
		trace := mutate(rng, says(Walk(m, Network{}, 25, rng.IntN)))
		trace = trace[:min(len(trace), 8)]
		want := newReference(m).legal(trace)
		if got, err := monitored(m, trace); got != want {
			t.Fatalf("legal up to %d, the monitor says %d (%v): %v", want, got, err, trace)
		}
		if want < len(trace) {
			refused++
		}
	}
	if refused < 100 {
		t.Errorf("only %d of the mutants are illegal", refused)
	}
}

// mutate drops, doubles, swaps or changes one message.
func mutate(rng *rand.Rand, trace []Utterance) []Utterance {
	if len(trace) < 2 {
		return trace
	}
	trace = slices.Clone(trace)
	i := rng.IntN(len(trace))
	switch rng.IntN(4) {
	case 0:
		return slices.Delete(trace, i, i+1)
	case 1:
		return slices.Insert(trace, i, trace[rng.IntN(len(trace))])
	case 2:
		k := rng.IntN(len(trace))
		trace[i], trace[k] = trace[k], trace[i]
	default:
		acts := []p.Performative{p.ActRequest, p.ActInform, p.ActStatusUpdate, p.ActFailure, p.ActRefuse, p.ActCancel}
		trace[i].Act = acts[rng.IntN(len(acts))]
	}
	return trace
}

func TestMonitorNamesWhatItExpected(t *testing.T) {
	o := NewMonitor(ping().MustCompile())
	if err := o.Observe(Utterance{From: Initiator, Act: p.ActQueryRef}); err != nil {
		t.Fatal(err)
	}
	err := o.Observe(Utterance{From: Responder, Act: p.ActFailure})
	var violation *ViolationError
	if !errors.As(err, &violation) {
		t.Fatal(err)
	}
	want := "machine: ping: responder: FAILURE is not legal here, expected INFORM_REF"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if got := o.States(Responder); !slices.Equal(got, []State{Idle, "answering", "lost"}) {
		t.Errorf("the responder may be in %v", got)
	}
}
