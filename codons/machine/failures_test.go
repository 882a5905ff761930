package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestFailuresRead(t *testing.T) {
	for on, want := range map[machine.Symbol]string{
		machine.Undeliverable(p.ActTaskRequest): "undeliverable TASK_REQUEST",
		machine.Undelivered(p.ActTaskRequest):   "undelivered TASK_REQUEST",
		machine.PeerLost():                      "peer lost",
	} {
		if got := on.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := fmt.Sprint(machine.KindUndeliverable, machine.KindUndelivered, machine.KindPeerLost); got != "undeliverable undelivered peer lost" {
		t.Errorf("got %q", got)
	}
}

func TestStepTakesFailures(t *testing.T) {
	m := tabletest.Fetch().MustCompile()
	asked := machine.Status{Role: machine.Initiator, State: "asked"}
	for on, want := range map[machine.Symbol]machine.State{
		machine.Undeliverable(p.ActRequest): "asked",
		machine.Undelivered(p.ActRequest):   "unreachable",
		machine.PeerLost():                  "orphaned",
	} {
		if after, _, err := m.Step(asked, machine.Event{On: on, At: time.Unix(1, 0)}); err != nil || after.State != want {
			t.Errorf("%s: %v, %v", on, after, err)
		}
	}
}

// TestFailuresNeedNoRows: an undeliverable message is not taken for a reply, nor by a
// wildcard.
func TestFailuresNeedNoRows(t *testing.T) {
	m := tabletest.ContractNet().MustCompile()
	for s := range m.Transitions() {
		c := machine.Status{Role: s.Role, State: s.From}
		if m.Takes(c, machine.PeerLost()) {
			t.Errorf("%s in %s takes a lost peer", s.Role, s.From)
		}
		for act := range p.Performatives() {
			if m.Takes(c, machine.Undeliverable(act)) {
				t.Errorf("%s in %s takes an undeliverable %s", s.Role, s.From, act)
			}
		}
	}
}

func TestFailuresAreRendered(t *testing.T) {
	table := tabletest.Fetch()
	for _, want := range []string{
		"| asked | undelivered REQUEST | unreachable |  |  |\n",
		"| fetched<br>unreachable<br>orphaned<br>stopped<br>expired<br>asked | any other refused copy | (stays) | drop undeliverable |  |\n",
		"| asked | peer lost | orphaned | send CANCEL |  |\n",
		"    asked --> unreachable: undelivered REQUEST\n",
		"    asked --> orphaned: peer lost !CANCEL\n",
	} {
		if text := table.Markdown(""); !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
}

// TestMonitorAllowsFailures: after a request, both failures are possible; before it,
// neither is.
func TestMonitorAllowsFailures(t *testing.T) {
	o := machine.NewMonitor(tabletest.Fetch().MustCompile())
	if got := o.States(machine.Initiator); !slices.Equal(got, []machine.State{machine.Idle}) {
		t.Errorf("at first: %v", got)
	}
	for _, u := range []machine.Utterance{
		{From: machine.Initiator, Act: p.ActRequest}, {From: machine.Responder, Act: p.ActAgree}, {From: machine.Initiator, Act: p.ActCancel},
	} {
		if got := o.States(machine.Initiator); u.Act == p.ActAgree && !slices.Contains(got, "unreachable") {
			t.Errorf("after the request: %v", got)
		}
		if err := o.Observe(u); err != nil {
			t.Error(err)
		}
	}
	if got := o.States(machine.Initiator); !slices.Equal(got, []machine.State{"orphaned"}) {
		t.Errorf("after CANCEL: %v", got)
	}
	if err := o.Observe(machine.Utterance{From: machine.Initiator, Act: p.ActCancel}); err == nil {
		t.Error("a second CANCEL is legal")
	}
}

// TestMonitorFailsOnlySentMessages has a row for an undelivered CANCEL in a state before
// the CANCEL.
func TestMonitorFailsOnlySentMessages(t *testing.T) {
	table := tabletest.Fetch()
	table.Terminal = append(table.Terminal, "never")
	table.Rows = append(table.Rows, machine.For(machine.Initiator, "asked").When(machine.Undelivered(p.ActCancel)).Goto("never"))
	o := machine.NewMonitor(table.MustCompile())
	if err := o.Observe(machine.Utterance{From: machine.Initiator, Act: p.ActRequest}); err != nil {
		t.Error(err)
	}
	if got := o.States(machine.Initiator); slices.Contains(got, "never") {
		t.Errorf("got %v", got)
	}
}
