package machine_test

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestProgress(t *testing.T) {
	begin := machine.NewProgress(tabletest.Ping().MustCompile())
	query := machine.Utterance{From: machine.Initiator, Act: p.ActQueryRef}
	asked := begin.After(query)
	if asked == nil || asked.Ended() || begin.After(query) != asked {
		t.Fatalf("after the query: %+v", asked)
	}
	if answered := asked.After(machine.Utterance{From: machine.Responder, Act: p.ActInformRef}); answered == nil || !answered.Ended() {
		t.Errorf("after the answer: %+v", answered)
	}
	if broken := asked.After(machine.Utterance{From: machine.Responder, Act: p.ActPropose}); broken != nil {
		t.Errorf("after a message that the table does not allow: %+v", broken)
	}
}

// A conversation with many like messages needs no more Progress values than one with some, and more conversations than are
// shared are judged all the same.
func TestProgressIsBounded(t *testing.T) {
	begin := machine.NewProgress(tabletest.ContractNet().MustCompile())
	at := begin
	for _, u := range reported(0) {
		at = at.After(u)
	}
	report := machine.Utterance{From: machine.Responder, Act: p.ActStatusUpdate}
	seen := map[*machine.Progress]bool{}
	for range 1000 {
		if at = at.After(report); at == nil || at.Ended() {
			t.Fatalf("after %d kinds of progress: %+v", len(seen), at)
		}
		seen[at] = true
	}
	if len(seen) > machine.MaxAlike {
		t.Errorf("%d values for like messages", len(seen))
	}
	for i := range 1000 { // each conversation has another trace
		at := begin
		for _, u := range reported(0) {
			at = at.After(u)
		}
		for bit := range 10 {
			at = at.After(machine.Utterance{From: machine.Responder, Act: p.ActStatusUpdate, Again: i>>bit&1 == 1 && bit > 0})
		}
		if end := at.After(machine.Utterance{From: machine.Responder, Act: p.ActInformResult}); end == nil || !end.Ended() {
			t.Fatalf("%d: after the result: %+v", i, end)
		}
	}
}
