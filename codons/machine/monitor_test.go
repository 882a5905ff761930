package machine

import (
	"errors"
	"fmt"
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

func monitored(m *Machine, trace []Utterance) (int, error) {
	o := NewMonitor(m)
	for i, u := range trace {
		if err := o.Observe(u); err != nil {
			return i, err
		}
	}
	return len(trace), nil
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
	for _, table := range []Table{ping(), echo(), auction(), haggle(), contractNet()} {
		m := table.MustCompile()
		x := newExplorer(m, Network{}.withDefaults())
		if err := x.walk(); err != nil {
			t.Fatal(err)
		}
		for i := range x.nodes {
			trace := spoken(x.path(int32(i)))
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

// reported is a contract net's trace with that many progress reports.
func reported(reports int) []Utterance {
	trace := []Utterance{
		{From: Initiator, Act: p.ActCFP}, {From: Responder, Act: p.ActPropose}, {From: Initiator, Act: p.ActAcceptProposal},
	}
	return append(trace, slices.Repeat([]Utterance{{From: Responder, Act: p.ActStatusUpdate}}, reports)...)
}

// TestReportsCostLittle would not end if the monitor told apart which of the
// reports have arrived.
func TestReportsCostLittle(t *testing.T) {
	m := contractNet().MustCompile()
	for _, reports := range []int{1, 14, 60, 200} {
		o := NewMonitor(m)
		for _, u := range append(reported(reports), Utterance{From: Initiator, Act: p.ActCancel}, Utterance{From: Responder, Act: p.ActInform}) {
			if err := o.Observe(u); err != nil {
				t.Fatalf("after %d reports: %v", reports, err)
			}
		}
		if len(o.courses) > 2 || len(o.reachable(o.courses[0], Initiator)) > 20 {
			t.Errorf("after %d reports: %d courses, %d sides", reports, len(o.courses), len(o.reachable(o.courses[0], Initiator)))
		}
		if err := o.Observe(Utterance{From: Responder, Act: p.ActStatusUpdate}); err == nil {
			t.Errorf("after %d reports: one after the receipt is legal", reports)
		}
	}
}

// TestMoreThanAMonitorTellsApart goes beyond its bounds, where it may miss a
// violation but must not see one that is none.
func TestMoreThanAMonitorTellsApart(t *testing.T) {
	m := echo().MustCompile()
	for _, n := range []int{maxAlike, maxAlike + 1, 100} {
		o := NewMonitor(m)
		trace := append([]Utterance{{From: Initiator, Act: p.ActSubscribe}}, slices.Repeat([]Utterance{{From: Responder, Act: p.ActInform}}, n)...)
		for i, u := range append(trace, slices.Repeat([]Utterance{{From: Initiator, Act: p.ActConfirm}}, n)...) {
			if err := o.Observe(u); err != nil {
				t.Fatalf("of %d, message %d: %v", n, i, err)
			}
		}
		err := o.Observe(Utterance{From: Initiator, Act: p.ActConfirm})
		if tells := n <= maxAlike; tells != (err != nil) {
			t.Errorf("thanks for nothing after %d: %v", n, err)
		}
	}
}

// TestARequestTooMany says more different requests than a monitor can tell apart.
func TestARequestTooMany(t *testing.T) {
	o := NewMonitor(haggle().MustCompile())
	for i := range setSize + 10 {
		for _, u := range []Utterance{{From: Initiator, Act: p.ActRequest}, {From: Responder, Act: p.ActInform, Tag: "offer"}} {
			if err := o.Observe(u); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
		}
	}
}

// TestAViolationBlamesItsSenderAlone lets the initiator answer a result that the
// responder could not have.
func TestAViolationBlamesItsSenderAlone(t *testing.T) {
	o := NewMonitor(echo().MustCompile())
	for _, u := range []struct {
		Utterance
		illegal bool
	}{
		{Utterance{From: Initiator, Act: p.ActSubscribe}, false},
		{Utterance{From: Responder, Act: p.ActAgree}, true},
		{Utterance{From: Responder, Act: p.ActInform}, false},
		{Utterance{From: Initiator, Act: p.ActConfirm}, false},
		{Utterance{From: Initiator, Act: p.ActConfirm}, true},
		{Utterance{From: Initiator, Act: p.ActConfirm, Again: true}, false},
	} {
		if err := o.Observe(u.Utterance); (err != nil) != u.illegal {
			t.Errorf("%s: %v", u.Utterance, err)
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	m := contractNet().MustCompile()
	for _, reports := range []int{0, 14} {
		b.Run(fmt.Sprintf("%d reports", reports), func(b *testing.B) {
			trace := reported(reports)
			b.ReportAllocs()
			for b.Loop() {
				o := NewMonitor(m)
				for _, u := range trace {
					if err := o.Observe(u); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(trace)), "µs/message")
		})
	}
}
