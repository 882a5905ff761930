package machine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	"github.com/ribosome-agents/ribosome/internal/bitset"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestMonitorNamesWhatItExpected(t *testing.T) {
	o := machine.NewMonitor(tabletest.Ping().MustCompile())
	if err := o.Observe(machine.Utterance{From: machine.Initiator, Act: p.ActQueryRef}); err != nil {
		t.Fatal(err)
	}
	err := o.Observe(machine.Utterance{From: machine.Responder, Act: p.ActFailure})
	var violation *machine.ViolationError
	if !errors.As(err, &violation) {
		t.Fatal(err)
	}
	want := "machine: ping: responder: FAILURE is not legal here, expected INFORM_REF"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if got := o.States(machine.Responder); !slices.Equal(got, []machine.State{machine.Idle, "answering", "lost"}) {
		t.Errorf("the responder may be in %v", got)
	}
}

// reported returns a trace of a contract net with that many progress reports.
func reported(reports int) []machine.Utterance {
	trace := []machine.Utterance{
		{From: machine.Initiator, Act: p.ActCFP}, {From: machine.Responder, Act: p.ActPropose}, {From: machine.Initiator, Act: p.ActAcceptProposal},
	}
	return append(trace, slices.Repeat([]machine.Utterance{{From: machine.Responder, Act: p.ActStatusUpdate}}, reports)...)
}

// TestReportsCostLittle would not end if the monitor distinguished the subsets of the
// reports that have arrived.
func TestReportsCostLittle(t *testing.T) {
	m := tabletest.ContractNet().MustCompile()
	for _, reports := range []int{1, 14, 60, 200} {
		o := machine.NewMonitor(m)
		for _, u := range append(reported(reports), machine.Utterance{From: machine.Initiator, Act: p.ActCancel}, machine.Utterance{From: machine.Responder, Act: p.ActInform}) {
			if err := o.Observe(u); err != nil {
				t.Fatalf("after %d reports: %v", reports, err)
			}
		}
		if hypotheses, positions := o.Size(machine.Initiator); hypotheses > 2 || positions > 20 {
			t.Errorf("after %d reports: %d hypotheses, %d positions", reports, hypotheses, positions)
		}
		if err := o.Observe(machine.Utterance{From: machine.Responder, Act: p.ActStatusUpdate}); err == nil {
			t.Errorf("after %d reports: one after the receipt is legal", reports)
		}
	}
}

// TestMoreThanAMonitorTellsApart goes beyond the bounds of a monitor: there it may miss
// a violation, and must accept every legal message.
func TestMoreThanAMonitorTellsApart(t *testing.T) {
	m := tabletest.Echo().MustCompile()
	for _, n := range []int{machine.MaxAlike, machine.MaxAlike + 1, 100} {
		o := machine.NewMonitor(m)
		trace := append([]machine.Utterance{{From: machine.Initiator, Act: p.ActSubscribe}}, slices.Repeat([]machine.Utterance{{From: machine.Responder, Act: p.ActInform}}, n)...)
		for i, u := range append(trace, slices.Repeat([]machine.Utterance{{From: machine.Initiator, Act: p.ActConfirm}}, n)...) {
			if err := o.Observe(u); err != nil {
				t.Fatalf("of %d, message %d: %v", n, i, err)
			}
		}
		err := o.Observe(machine.Utterance{From: machine.Initiator, Act: p.ActConfirm})
		if tells := n <= machine.MaxAlike; tells != (err != nil) {
			t.Errorf("CONFIRM without a report after %d reports: %v", n, err)
		}
	}
}

// TestARequestTooMany sends more different requests than a monitor can tell apart.
func TestARequestTooMany(t *testing.T) {
	o := machine.NewMonitor(tabletest.Haggle().MustCompile())
	for i := range bitset.Size + 10 {
		for _, u := range []machine.Utterance{{From: machine.Initiator, Act: p.ActRequest}, {From: machine.Responder, Act: p.ActInform, Tag: "offer"}} {
			if err := o.Observe(u); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
		}
	}
}

// TestOvertakenRequest has a responder answer a request again that a later one has overtaken: the
// award shows that the first proposal was for the second call.
func TestOvertakenRequest(t *testing.T) {
	o := machine.NewMonitor(tabletest.Auction().MustCompile())
	for _, u := range []machine.Utterance{
		{From: machine.Initiator, Act: p.ActInform},
		{From: machine.Initiator, Act: p.ActCFP},
		{From: machine.Initiator, Act: p.ActCFP},
		{From: machine.Responder, Act: p.ActPropose},
		{From: machine.Initiator, Act: p.ActAcceptProposal},
	} {
		if err := o.Observe(u); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Observe(machine.Utterance{From: machine.Responder, Act: p.ActPropose}); err == nil {
		t.Error("a proposal for the overtaken call is accepted")
	}
}

// TestAViolationBlamesItsSenderAlone: after an illegal message of the responder, the
// legal messages of both sides are accepted.
func TestAViolationBlamesItsSenderAlone(t *testing.T) {
	o := machine.NewMonitor(tabletest.Echo().MustCompile())
	for _, u := range []struct {
		machine.Utterance
		illegal bool
	}{
		{machine.Utterance{From: machine.Initiator, Act: p.ActSubscribe}, false},
		{machine.Utterance{From: machine.Responder, Act: p.ActAgree}, true},
		{machine.Utterance{From: machine.Responder, Act: p.ActInform}, false},
		{machine.Utterance{From: machine.Initiator, Act: p.ActConfirm}, false},
		{machine.Utterance{From: machine.Initiator, Act: p.ActConfirm}, true},
		{machine.Utterance{From: machine.Initiator, Act: p.ActConfirm, Again: true}, false},
	} {
		if err := o.Observe(u.Utterance); (err != nil) != u.illegal {
			t.Errorf("%s: %v", u.Utterance, err)
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	m := tabletest.ContractNet().MustCompile()
	for _, reports := range []int{0, 14} {
		b.Run(fmt.Sprintf("%d reports", reports), func(b *testing.B) {
			trace := reported(reports)
			b.ReportAllocs()
			for b.Loop() {
				o := machine.NewMonitor(m)
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
