package codons_test

import (
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/saga"
)

// TestSoloRefuses a content of another type and an event without a row. Neither changes anything.
func TestSoloRefuses(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		s := codons.NewSolo(saga.Codon, w.Eddy.Self(), "")
		if _, err := s.Take(machine.Commanded(machine.CommandStart), 7); err == nil {
			t.Error("a number is the content of start")
		}
		var unexpected *machine.UnexpectedError
		if _, err := s.Take(machine.Timeout(machine.TimerGrace), nil); !errors.As(err, &unexpected) {
			t.Errorf("got %v", err)
		}
		if s.State() != machine.Idle || len(s.Record().Events) != 0 {
			t.Errorf("it is %s after %d events", s.State(), len(s.Record().Events))
		}
	})
}

// TestSoloRecords gives each Solo an id, and keeps the events of a record as they were.
func TestSoloRecords(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		s, other := codons.NewSolo(saga.Codon, w.Eddy.Self(), ""), codons.NewSolo(saga.Codon, w.Eddy.Self(), "")
		if s.ID() == "" || s.ID() == other.ID() {
			t.Errorf("the ids are %q and %q", s.ID(), other.ID())
		}
		effects, err := s.Take(machine.Commanded(machine.CommandStart), nil)
		if err != nil || len(effects) == 0 {
			t.Fatal(effects, err)
		}
		first := s.Record()
		if _, err := s.Take(machine.Commanded("done_1"), "a"); err != nil {
			t.Fatal(err)
		}
		_ = append(first.Events, codons.Input{Data: "b"}) // must not be seen in s
		if again := s.Record(); len(first.Events) != 1 || len(again.Events) != 2 || again.Events[1].Data != "a" {
			t.Errorf("the records have %d events and %+v", len(first.Events), again.Events)
		}
	})
}
